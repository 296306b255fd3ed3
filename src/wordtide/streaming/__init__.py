"""Models that follow a stream of texts.

update        append later slices to a model
additions     what an update adds: later texts, counted as the model's were
watch         update a model with each slice of an endless stream
settings      of a watch
watch_record  where the next watch resumes
rows          complete rows of a stream, each with its position
followed_file a file that grows
journal       standard input that survives a restart
open_slices   rows of slices that have not ended
alerts        surprising words of the last slice
"""
