"""The explorer: a page where one types a word and sees its story, as one file, as a folder, or from a local
server.
"""
