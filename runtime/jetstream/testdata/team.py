"""The other team in Python: a client of NATS in a few lines, because the contract needs no more.

It is called with an address, a user, a password, and what to do:

  send SUBJECT ID BODY [HEADER VALUE]...   publishes a message and prints the answer of the servers
  read STREAM CONSUMER COUNT               reads so many messages of a consumer, acknowledges them, and prints each as JSON
"""

import json
import socket
import sys

PREFIX = "_INBOX_partners"
PATIENCE = 20  # seconds


class Client:
    def __init__(self, address, user, password):
        host, port = address.rsplit(":", 1)
        self.conn = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.input = self.conn.makefile("rb")
        self.inboxes = 0
        self.line()  # INFO
        options = {"user": user, "pass": password, "verbose": False, "pedantic": False, "headers": True, "no_responders": True,
                   "lang": "python", "version": "0"}
        self.write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        while self.line() != "PONG":
            pass

    def write(self, data):
        self.conn.sendall(data)

    def line(self):
        text = self.input.readline().decode().rstrip("\r\n")
        if text.startswith("-ERR"):
            raise SystemExit(text)
        return text

    def subscribe(self):
        self.inboxes += 1
        inbox = f"{PREFIX}.{self.inboxes}"
        self.write(f"SUB {inbox} {self.inboxes}\r\n".encode())
        return inbox

    def publish(self, subject, reply="", headers=(), body=b""):
        if not headers:
            self.write(f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n")
            return
        head = b"NATS/1.0\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in headers) + b"\r\n"
        self.write(f"HPUB {subject} {reply} {len(head)} {len(head) + len(body)}\r\n".encode() + head + body + b"\r\n")

    def next(self):
        """The next message: its subject, reply, status, headers and body."""
        while True:
            words = self.line().split()
            if not words:
                raise SystemExit("the server has ended the connection")
            if words[0] == "PING":
                self.write(b"PONG\r\n")
            elif words[0] in ("MSG", "HMSG"):
                break
        sizes = 1 if words[0] == "MSG" else 2
        reply = words[3] if len(words) == 4 + sizes else ""
        data = self.input.read(int(words[-1]))
        self.input.read(2)
        if words[0] == "MSG":
            return words[1], reply, "", {}, data
        size = int(words[-2])
        first, *rest = data[:size].decode().split("\r\n")
        headers = dict(one.split(":", 1) for one in rest if one)
        return words[1], reply, first[len("NATS/1.0"):].strip(), {name: value.strip() for name, value in headers.items()}, data[size:]


def send(client, subject, id, body, *headers):
    inbox = client.subscribe()
    client.publish(subject, inbox, [("Nats-Msg-Id", id), *zip(headers[::2], headers[1::2])], body.encode())
    print(client.next()[4].decode())


def read(client, stream, consumer, count):
    inbox = client.subscribe()
    client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", inbox, body=json.dumps({"batch": int(count), "expires": PATIENCE * 10**9}).encode())
    for _ in range(int(count)):
        subject, reply, status, headers, body = client.next()
        if status:
            raise SystemExit(status)
        key = json.loads(headers["Busgen-Key"]) if "Busgen-Key" in headers else None
        print(json.dumps({"subject": subject, "id": headers["Nats-Msg-Id"], "type": headers["Busgen-Type"], "version": int(headers["Busgen-Version"]),
                          "created": headers["Busgen-Created"], "content": headers["Content-Type"], "key": key,
                          "metadata": json.loads(headers.get("Busgen-Metadata", "{}")), "payload": json.loads(body)}))
        client.publish(reply, body=b"+ACK")
    client.write(b"PING\r\n")
    while client.line() != "PONG":
        pass


if __name__ == "__main__":
    address, user, password, verb, *arguments = sys.argv[1:]
    {"send": send, "read": read}[verb](Client(address, user, password), *arguments)
