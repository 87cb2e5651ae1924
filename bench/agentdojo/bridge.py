"""Passes lines between standard input and output and a socket: python -I -S bridge.py SOCKET RUN."""

import os
import socket
import sys
import threading

desk = socket.socket(socket.AF_UNIX)
desk.connect(sys.argv[1])
desk.sendall(sys.argv[2].encode() + b"\n")


def down():
    while data := os.read(0, 1 << 16):
        desk.sendall(data)
    os._exit(0)


threading.Thread(target=down, daemon=True).start()
while data := desk.recv(1 << 16):
    while data:
        data = data[os.write(1, data) :]
