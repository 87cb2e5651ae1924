package a2a

import (
	"encoding/json"
	"testing"
)

// A request of an older version is understood or refused by the field, and the answer is
// JSON that names the kind of each object.
func TestOldVersions(t *testing.T) {
	for params, want := range map[string]string{
		`{"message":{"kind":"message","messageId":"m","role":"user","contextId":"c","parts":[{"kind":"text","text":"hi"},` +
			`{"kind":"file","file":{"bytes":"eA==","name":"x.txt","mimeType":"text/plain"}},{"kind":"data","data":{"a":1}}]},"configuration":{"blocking":false,"historyLength":2}}`: `{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hi"},` +
			`{"raw":"eA==","filename":"x.txt","mediaType":"text/plain"},{"data":{"a":1}}]},"configuration":{"historyLength":2,"returnImmediately":true}}`,
		`{}`: `{"message":null,"configuration":{}}`,
		`{"message":{"messageId":"m","role":"agent","parts":[]}}`:                              "message.role: it must be user",
		`{"message":{"messageId":5}}`:                                                          "message.messageId: it must not be a number",
		`{"configuration":{"pushNotificationConfig":{"url":"https://a.example.org"}}}`:         "this agent sends no push notifications: subscribe to the task",
		`{"message":{"messageId":"m","role":"user","parts":[{"kind":"file","file":"x.txt"}]}}`: "message.parts.file: it must not be a string",
	} {
		got, err := fromOld("message/send", json.RawMessage(params))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s is\n%s, not\n%s", params, got, want)
		}
	}
	text := Text("hi")
	for want, result := range map[string]any{
		`{"kind":"task","id":"s-1","contextId":"c","status":{"timestamp":"0001-01-01T00:00:00.000Z","state":"input-required",` +
			`"message":{"kind":"message","messageId":"q","role":"agent","parts":[{"kind":"text","text":"hi"}]}},` +
			`"artifacts":[{"artifactId":"a","parts":[{"kind":"data","data":{"value":[1]}},{"kind":"file","file":{"uri":"https://a.example.org/b","name":"b"}}]}]}`: &Task{
			ID: "s-1", Context: "c", Status: Status{State: InputRequired, Message: &Message{ID: "q", Role: RoleAgent, Parts: []Part{text}}},
			Artifacts: []Artifact{{ID: "a", Parts: []Part{{Data: json.RawMessage(`[1]`)}, {URL: "https://a.example.org/b", Filename: "b"}}}}},
		`{"kind":"status-update","taskId":"s-1","contextId":"c","status":{"timestamp":"0001-01-01T00:00:00.000Z","state":"working"},"final":false}`: Event{Status: &StatusUpdate{Task: "s-1", Context: "c", Status: Status{State: Working}}},
		`{"kind":"artifact-update","taskId":"s-1","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"kind":"text","text":"hi"}]}}`: Event{Artifact: &ArtifactUpdate{
			Task: "s-1", Context: "c", Append: true, Artifact: Artifact{ID: "a", Parts: []Part{text}}}},
		`{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}`: Event{Message: &Message{ID: "m", Role: RoleAgent, Parts: []Part{text}}},
	} {
		if got, err := json.Marshal(toOld(result)); err != nil || string(got) != want {
			t.Errorf("got  %s %v\nwant %s", got, err, want)
		}
	}
}
