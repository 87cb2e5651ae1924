"""An operator for Airflow 3 that has an agent do a task. Its result is the answer.

    report = OpenManusOperator(task_id="report", task="Sum up {{ ds }}.", url="https://manus.example.org", token="{{ var.value.manus_token }}")

A run that is tried again goes on with the same session: its key is that of the run. A task that waits for a person fails, and says so.
"""
import json
import urllib.request

from airflow.sdk import BaseOperator


class OpenManusOperator(BaseOperator):
    template_fields = ("task", "url", "token")

    def __init__(self, *, task, url, token, approve="readonly", agent=None, **kwargs):
        super().__init__(**kwargs)
        self.task, self.url, self.token, self.approve, self.agent = task, url, token, approve, agent

    def call(self, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        request = urllib.request.Request(
            self.url.rstrip("/") + "/api/v1" + path, method=method, headers=headers, data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read() or "{}")

    def execute(self, context):
        ti = context["ti"]
        key = f"{ti.dag_id}/{ti.task_id}/{ti.run_id}/{ti.map_index}"
        session = self.call("POST", "/sessions", {"approve": self.approve, **({"agent": self.agent} if self.agent else {})}, key)["id"]
        self.call("POST", f"/sessions/{session}/messages", {"id": "task", "text": self.task})
        while (s := self.call("GET", f"/sessions/{session}?wait=60"))["status"] == "running":
            self.log.info("%s: %s", session, s.get("doing"))
        if s["status"] != "finished":
            raise RuntimeError(f"session {session} is {s['status']}: {s.get('error') or 'it waits for a person'}")
        return s["answer"]
