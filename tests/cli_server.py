"""A process that has kinetree imported and forks one child for every command line that it is told.

Each child runs the program's own `main` with its own words, streams and folder; only the time to
start Python and to import is saved. A request and its answer are lines of JSON.
"""

import importlib
import json
import os
import sys
import tempfile

READY = (
    "cyclopts", "rich.markdown", "kinetree.cli.app", "kinetree.robots",
    "kinetree.files.loading", "kinetree.motion", "kinetree.simulate.simulation",
    "kinetree.engine.kernels.compile", "kinetree.explain.tables", "kinetree.views",
    "llvmlite.binding",
)  # fmt: skip


def child(request, streams):
    """Never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["kinetree", *request["words"]]
    code = 1
    try:
        from kinetree.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve():
    for name in READY:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        streams = [tempfile.TemporaryFile() for _ in range(3)]
        if request["no_reader"]:
            reader, writer = os.pipe()
            os.close(reader)
            streams[1] = os.fdopen(writer, "wb")
        streams[0].write(request["stdin"].encode())
        streams[0].seek(0)
        number = os.fork()
        if number == 0:
            child(request, streams)
        code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        texts = []
        for stream in streams:
            if stream.seekable():
                stream.seek(0)
            texts.append(stream.read().decode() if stream.readable() else "")
            stream.close()
        print(json.dumps([code, *texts[1:]]), flush=True)


if __name__ == "__main__":
    serve()
