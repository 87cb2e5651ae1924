package a2a

import (
	"encoding/json"
	"errors"
	"strings"
)

// Agents that speak A2A 0.2 or 0.3 are served by the JSON-RPC binding, if they ask for it:
// their methods have other names, and their objects say in a member "kind" what they are.
// Streams are as in 1.0; there are no push notifications. See
// https://a2a-protocol.org/v0.3.0/specification.

// oldVersion is the newest of the older versions.
const oldVersion = "0.3"

// isOld reports whether a request that names this version may be of an older one: such
// requests name none as a rule.
func isOld(version string) bool { return version == "" || strings.HasPrefix(version, "0.") }

// oldMethods are the methods of older versions by the names that they have there.
var oldMethods = map[string]string{
	"message/send":      "SendMessage",
	"message/stream":    "SendStreamingMessage",
	"tasks/get":         "GetTask",
	"tasks/cancel":      "CancelTask",
	"tasks/resubscribe": "SubscribeToTask",
}

// OldCard returns a card in the form of versions before 1.0, which have one address and no
// bindings. Push notifications are not offered there.
func OldCard(card map[string]any, url string) map[string]any {
	old := map[string]any{
		"url": url, "protocolVersion": oldVersion + ".0", "preferredTransport": "JSONRPC",
		"capabilities":    map[string]any{"streaming": true, "pushNotifications": false},
		"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		"security":        []any{map[string]any{"token": []string{}}},
	}
	for _, name := range []string{"name", "description", "version", "defaultInputModes", "defaultOutputModes", "skills"} {
		old[name] = card[name]
	}
	return old
}

// An oldPart is a part of a message.
type oldPart struct {
	Kind string          `json:"kind"`
	Text *string         `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	File *oldFile        `json:"file,omitempty"`
}

type oldFile struct {
	Bytes []byte `json:"bytes,omitempty"`
	URI   string `json:"uri,omitempty"`
	Name  string `json:"name,omitempty"`
	MIME  string `json:"mimeType,omitempty"`
}

// An oldMessage is a [Message] whose parts and role are written in another way.
type oldMessage struct {
	Kind string `json:"kind"`
	Message
	Role  string    `json:"role"`
	Parts []oldPart `json:"parts"`
}

// fromOld returns the parameters of a method of an older version in today's form. Methods
// without differences keep theirs. A push configuration is refused.
func fromOld(method string, params json.RawMessage) (json.RawMessage, error) {
	if method != "message/send" && method != "message/stream" {
		return params, nil
	}
	var in struct {
		Message       *oldMessage `json:"message"`
		Configuration struct {
			HistoryLength          *int            `json:"historyLength"`
			Blocking               *bool           `json:"blocking"`
			PushNotificationConfig json.RawMessage `json:"pushNotificationConfig"`
		} `json:"configuration"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) && typ.Field != "" {
			field := strings.Replace(typ.Field, ".Message.", ".", 1) // the name of what is embedded
			return nil, BadField(field, "it must not be a "+typ.Value)
		}
		return nil, BadField("params", err.Error())
	}
	c := in.Configuration
	if p := string(c.PushNotificationConfig); p != "" && p != "null" {
		return nil, NoPush()
	}
	var out SendRequest
	out.Config.History, out.Config.Now = c.HistoryLength, c.Blocking != nil && !*c.Blocking
	if m := in.Message; m != nil {
		out.Message = &m.Message
		if m.Role != "user" {
			return nil, BadField("message.role", "it must be user")
		}
		out.Message.Role = RoleUser
		for _, p := range m.Parts {
			now := Part{Text: p.Text, Data: p.Data}
			if f := p.File; f != nil {
				now = Part{Raw: f.Bytes, URL: f.URI, Filename: f.Name, MediaType: f.MIME}
			}
			out.Message.Parts = append(out.Message.Parts, now)
		}
	}
	return json.Marshal(out)
}

// toOld returns a result in the form of older versions: objects name their kind, and
// states are lower-case words.
func toOld(result any) any {
	switch v := result.(type) {
	case *Task:
		return toOldTask(v)
	case Event:
		switch {
		case v.Task != nil:
			return toOldTask(v.Task)
		case v.Message != nil:
			return toOldMessage(*v.Message)
		case v.Status != nil:
			return struct {
				Kind string `json:"kind"`
				*StatusUpdate
				Status oldStatus `json:"status"`
				Final  bool      `json:"final"`
			}{"status-update", v.Status, toOldStatus(v.Status.Status), v.Status.Status.State.Rests()}
		case v.Artifact != nil:
			return struct {
				Kind string `json:"kind"`
				*ArtifactUpdate
				Artifact oldArtifact `json:"artifact"`
			}{"artifact-update", v.Artifact, toOldArtifact(v.Artifact.Artifact)}
		}
	}
	return result
}

type oldStatus struct {
	Status
	State   string      `json:"state"`
	Message *oldMessage `json:"message,omitempty"`
}

type oldArtifact struct {
	Artifact
	Parts []oldPart `json:"parts"`
}

func toOldTask(t *Task) any {
	out := struct {
		Kind string `json:"kind"`
		*Task
		Status    oldStatus     `json:"status"`
		Artifacts []oldArtifact `json:"artifacts,omitempty"`
		History   []oldMessage  `json:"history,omitempty"`
	}{Kind: "task", Task: t, Status: toOldStatus(t.Status)}
	for _, a := range t.Artifacts {
		out.Artifacts = append(out.Artifacts, toOldArtifact(a))
	}
	for _, m := range t.History {
		out.History = append(out.History, toOldMessage(m))
	}
	return out
}

func toOldStatus(s Status) oldStatus {
	words := strings.ToLower(strings.TrimPrefix(string(s.State), "TASK_STATE_"))
	out := oldStatus{Status: s, State: strings.ReplaceAll(words, "_", "-")}
	if s.Message != nil {
		m := toOldMessage(*s.Message)
		out.Message = &m
	}
	return out
}

func toOldMessage(m Message) oldMessage {
	return oldMessage{Kind: "message", Message: m, Role: strings.ToLower(strings.TrimPrefix(m.Role, "ROLE_")), Parts: toOldParts(m.Parts)}
}

func toOldArtifact(a Artifact) oldArtifact { return oldArtifact{a, toOldParts(a.Parts)} }

// toOldParts returns parts in the form of older versions. Data that is no object becomes
// one, with the member value.
func toOldParts(parts []Part) []oldPart {
	out := []oldPart{}
	for _, p := range parts {
		switch {
		case p.Text != nil:
			out = append(out, oldPart{Kind: "text", Text: p.Text})
		case len(p.Data) > 0:
			data := p.Data
			if data[0] != '{' { // it has to be an object there
				data = append(append(json.RawMessage(`{"value":`), data...), '}')
			}
			out = append(out, oldPart{Kind: "data", Data: data})
		default:
			out = append(out, oldPart{Kind: "file", File: &oldFile{p.Raw, p.URL, p.Filename, p.MediaType}})
		}
	}
	return out
}
