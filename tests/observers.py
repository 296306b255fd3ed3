"""An observer for tests: it records the stages, steps and messages of long work."""

from wordtide.progress import Observer


class RecordingObserver(Observer):
    """Records stages in order as [name, units done, total, depth], and messages."""

    def __init__(self):
        self.stages, self.messages, self._open = [], [], []

    def start(self, stage, total=0, unit="steps"):
        self.stages.append([stage, 0, total, len(self._open)])
        self._open.append(self.stages[-1])

    def step(self, amount=1, status=""):
        self._open[-1][1] += amount

    def message(self, text):
        self.messages.append(text)

    def finish(self):
        self._open.pop()

    @property
    def finished(self):
        """Whether every stage that was started has ended."""
        return not self._open


class StepObserver(Observer):
    """Counts the steps of the current stage, and calls `stepped` after each."""

    stage_name, done = "", 0

    def start(self, stage, total=0, unit="steps"):
        self.stage_name, self.done = stage, 0

    def step(self, amount=1, status=""):
        self.done += amount
        self.stepped(self.done, status)

    def stepped(self, done, status):
        """Replaced by tests."""
