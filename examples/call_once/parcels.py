# SPDX-License-Identifier: Apache-2.0
"""The other service: parcels.py PORT FILE. Each POST is a line of the file, and takes a second."""

import http.server
import sys
import time


class Parcels(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open(sys.argv[2], "a", encoding="utf-8") as parcels:
            parcels.write(f"{self.headers['Idempotency-Key']} {body}\n")
        time.sleep(1)
        self.send_response(201)
        self.end_headers()


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Parcels).serve_forever()
