"""Answer one question about one robot in this process: `python -m benchmarks.ask latency panda`."""

import importlib
import json
import sys

from benchmarks.questions import QUESTIONS
from benchmarks.timing import QUICK, Effort


def main() -> None:
    """Print the answer as the last line, in JSON."""
    arguments = [word for word in sys.argv[1:] if word != "--quick"]
    if not arguments or arguments[0] not in QUESTIONS:
        sys.exit(f"usage: python -m benchmarks.ask {{{','.join(QUESTIONS)}}} [ROBOT] [--quick]")
    question, robot = arguments[0], arguments[1] if len(arguments) > 1 else "panda"
    effort = QUICK if "--quick" in sys.argv else Effort()
    answer = importlib.import_module(f"benchmarks.questions.{question}").ask(robot, effort)
    print(json.dumps(answer.to_json()), flush=True)


if __name__ == "__main__":
    main()
