#!/usr/bin/env python3
"""Other hosts, on this machine, for the tests of sglrun.

fake_sshd.py serve SOCKET          runs commands that are asked for, as the ssh daemons of any
                                   number of hosts would: not below the process that asks
fake_sshd.py run SOCKET HOST WORD...   asks for one, whose standard descriptors are this
                                   process's; ends with its status
"""
import os
import socket
import subprocess
import sys
import threading


def serve_one(connection):
    request, descriptors, _, _ = socket.recv_fds(connection, 65536, 3)
    host, command = request.decode().split("\0")
    process = subprocess.Popen(["sh", "-c", command], stdin=descriptors[0], stdout=descriptors[1],
                               stderr=descriptors[2], cwd="/", start_new_session=True,
                               env=dict(os.environ, HOSTNAME=host))
    for descriptor in descriptors:
        os.close(descriptor)
    status = process.wait()
    try:
        connection.sendall(str(status if status >= 0 else 128 - status).encode())
    except OSError:
        pass  # nobody waits for it any more
    connection.close()


def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def run(path, host, words):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    socket.send_fds(connection, [(host + "\0" + " ".join(words)).encode()], [0, 1, 2])
    os.close(0)
    sys.exit(int(connection.recv(16) or b"255"))


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    run(sys.argv[2], sys.argv[3], sys.argv[4:])
