package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/llm"
)

// A screen is what an editor makes of updates.
type screen struct {
	texts map[string]string // of the agent and the person, by message
	order []string
	calls map[string]update
	mode  string
	plan  string
}

func newScreen() *screen {
	return &screen{texts: make(map[string]string), calls: make(map[string]update)}
}

// show takes an update, as an editor does. It fails for one that no editor understands.
func (s *screen) show(t testing.TB, u update) {
	data, err := json.Marshal(u)
	if err != nil || !utf8.Valid(data) {
		t.Fatalf("%v: %q", err, data)
	}
	switch u.SessionUpdate {
	case "":
	case "agent_message_chunk", "user_message_chunk", "agent_thought_chunk":
		if u.MessageID == "" {
			t.Fatalf("a chunk of no message: %s", data)
		}
		key := u.SessionUpdate + " " + u.MessageID
		if _, known := s.texts[key]; !known {
			s.order = append(s.order, key)
		}
		s.texts[key] += u.Content.(*content).Text
	case "tool_call":
		s.calls[u.ToolCallID] = u
	case "tool_call_update":
		c, known := s.calls[u.ToolCallID]
		if !known {
			t.Fatalf("an update of a call that nobody knows: %s", data)
		}
		if c.Status == "completed" || c.Status == "failed" {
			t.Fatalf("an update of a call that has ended: %s", data)
		}
		if u.Status != "" {
			c.Status = u.Status
		}
		if u.Content != nil {
			c.Content = u.Content
		}
		if u.Title != "" {
			c.Title = u.Title
		}
		s.calls[u.ToolCallID] = c
	case "current_mode_update":
		s.mode = u.CurrentModeID
	case "plan":
		s.plan = fmt.Sprint(*u.Entries)
	case "config_option_update", "session_info_update", "usage_update", "available_commands_update":
	default:
		t.Fatalf("no such update: %s", data)
	}
}

// digest returns what the screen tells: what the agent said in each turn, without what it
// began and then said anew, and the outcome of each call.
func (s *screen) digest() string {
	said, try := make(map[string]string), make(map[string]string)
	var turns []string
	for _, key := range s.order {
		kind, id, _ := strings.Cut(key, " ")
		turn, n := id, ""
		if kind == "agent_thought_chunk" {
			continue // of a reply that was interrupted, the journal has none
		}
		if f := strings.Split(id, "."); id[0] == 't' && !strings.HasSuffix(id, "!") {
			if turn = f[0]; len(f) == 3 {
				n = f[2]
			}
		}
		turn = kind + " " + turn
		if _, known := said[turn]; !known {
			turns = append(turns, turn)
		}
		if try[turn] != n {
			said[turn], try[turn] = "", n
		}
		said[turn] += s.texts[key]
	}
	var b strings.Builder
	for _, turn := range turns {
		if said[turn] != "" {
			fmt.Fprintf(&b, "%s: %q\n", turn, said[turn])
		}
	}
	data, _ := json.Marshal(s.calls)
	return b.String() + string(data) + s.mode + s.plan
}

// A maker makes a session of bytes, which choose what happens next.
type maker struct {
	data  []byte
	live  []openmanus.Event // with what streams
	seq   int64
	turn  int
	calls []string
	n     int
}

func (m *maker) byte() int {
	if len(m.data) == 0 {
		return 0
	}
	b := m.data[0]
	m.data = m.data[1:]
	return int(b)
}

// text takes a text, of any letters.
func (m *maker) text() string {
	n := min(m.byte()%12, len(m.data))
	text := strings.ToValidUTF8(string(m.data[:n]), "ü")
	m.data = m.data[n:]
	return text
}

func (m *maker) store(b openmanus.Body) {
	m.seq++
	m.live = append(m.live, openmanus.Event{Seq: m.seq, Body: b})
}

// stream streams parts, in pieces, perhaps from the beginning again.
func (m *maker) stream(parts llm.Parts) {
	for again := m.byte()%3 == 1; ; again = false {
		for i, p := range parts {
			kind, text := chunkOf(p)
			for len(text) > 0 {
				_, n := utf8.DecodeRuneInString(text)
				if m.byte()%2 == 0 {
					n = len(text)
				}
				piece := llm.Part(llm.Text{Text: text[:n]})
				if kind == "agent_thought_chunk" {
					piece = llm.Thinking{Text: text[:n]}
				}
				m.live = append(m.live, openmanus.Event{Body: openmanus.Typing{Turn: m.turn, Part: i, Parts: llm.Parts{piece}}})
				text = text[n:]
				if again && m.byte()%4 == 1 {
					break
				}
			}
			if m.byte()%8 == 1 && !again { // a reader that was slow gets all of it
				m.live = append(m.live, openmanus.Event{Body: openmanus.Typing{Turn: m.turn, Reset: true, Parts: parts[:i+1]}})
			}
		}
		if !again {
			return
		}
		m.live = append(m.live, openmanus.Event{Body: openmanus.Typing{Turn: m.turn, Reset: true}})
	}
}

// make makes the session.
func (m *maker) make() {
	m.store(openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion})
	m.store(openmanus.Configured{})
	for len(m.data) > 0 {
		switch m.byte() % 8 {
		case 0, 1:
			parts := llm.Parts{llm.Thinking{Text: m.text()}, llm.Text{Text: m.text()}}
			if m.byte()%2 == 0 {
				parts = parts[1:]
			}
			m.stream(parts)
			for range m.byte() % 3 {
				m.n++
				id := fmt.Sprint("c", m.n)
				m.calls = append(m.calls, id)
				parts = append(parts, llm.Call{ID: id, Name: []string{"bash", "planning", "x"}[m.n%3], Input: m.text()})
			}
			m.store(openmanus.ModelSaid{Turn: m.turn, Message: llm.Message{Role: llm.Assistant, Parts: parts}})
			m.turn++
		case 2:
			parts := llm.Parts{llm.Text{Text: m.text()}}
			m.stream(parts)
			m.store(openmanus.Interrupted{ID: fmt.Sprint(m.seq), Said: parts.Text()})
			m.turn++
		case 3:
			m.store(openmanus.UserSaid{ID: fmt.Sprint("u", m.seq), Message: llm.Message{Role: llm.User, Parts: llm.Parts{llm.Text{Text: m.text()}}}})
		case 4, 5:
			if len(m.calls) > 0 {
				id := m.calls[0]
				m.calls = m.calls[1:]
				if m.byte()%4 == 1 {
					m.store(openmanus.Ruled{Call: id, Reason: m.text()})
					continue
				}
				m.store(openmanus.CallStarted{Call: id})
				m.live = append(m.live, openmanus.Event{Body: openmanus.Output{Call: id, Text: m.text()}})
				m.store(openmanus.CallDone{Call: id, Parts: llm.Parts{llm.Text{Text: m.text()}}, Detail: json.RawMessage(`{"diff":` + fmt.Sprintf("%q", m.text()) + `}`)})
			}
		case 6:
			m.store(openmanus.Ended{Turn: m.turn, Status: openmanus.Failed, Error: m.text()})
			m.turn++
		case 7:
			m.store(openmanus.ModeSet{ID: fmt.Sprint(m.seq), Mode: openmanus.Modes[m.byte()%len(openmanus.Modes)]})
		}
	}
}

// FuzzStory holds that an editor that follows a session sees what one sees that loads it
// afterwards, and gets nothing that it cannot understand.
func FuzzStory(f *testing.F) {
	f.Add([]byte("\x00\x05hello\x03one\x00\x01\x02\x04ab\x05"))
	f.Add([]byte("\x02\x04wait\x01\x03\x05again\x07\x02\x06\x03end"))
	f.Add(bytes.Repeat([]byte("\x01\x0bab\xc3\xbcdef\x01\x02\x03\x04"), 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &maker{data: data[:min(len(data), 2000)]}
		m.make()
		var live, replay Story
		followed, loaded := newScreen(), newScreen()
		for _, ev := range m.live {
			for _, u := range live.next("s", ev) {
				followed.show(t, u)
			}
			if ev.Seq > 0 {
				for _, u := range replay.next("s", ev) {
					loaded.show(t, u)
				}
			}
		}
		if a, b := followed.digest(), loaded.digest(); a != b {
			t.Fatalf("followed:\n%s\nloaded:\n%s", a, b)
		}
	})
}

// TestPieces goes on after each piece of a reply that came in one event: what an editor has
// seen and what it gets then are the reply.
func TestPieces(t *testing.T) {
	reply := llm.Parts{llm.Thinking{Text: "Others can do that."}, llm.Text{Text: "I give it away."}, llm.Text{Text: "Gladly."}}
	typed := openmanus.Event{Body: openmanus.Typing{Parts: reply}}
	stored := openmanus.Event{Seq: 1, Body: openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: reply}}}
	for cut := 1; cut <= len(reply); cut++ {
		var live, resumed Story
		seen := newScreen()
		pieces := live.next("s", typed)[:cut]
		for _, u := range pieces {
			seen.show(t, u)
		}
		at, err := readPlace("0.0" + pieces[cut-1].streamed)
		if err != nil {
			t.Fatal(err)
		}
		resumed.at("s")
		resumed.resume(at)
		for _, u := range resumed.next("s", stored) {
			seen.show(t, u)
		}
		want := map[string]string{"agent_thought_chunk t0.0": "Others can do that.", "agent_message_chunk t0.1": "I give it away.", "agent_message_chunk t0.2": "Gladly."}
		if !maps.Equal(seen.texts, want) {
			t.Errorf("after piece %d: %q", cut, seen.texts)
		}
	}
}

// The story tells an editor a few times how much of a prompt the model has read, apart from the reply.
func TestReadingThePrompt(t *testing.T) {
	var s Story
	var told []string
	for _, percent := range []int{0, 3, 26, 31, 44, 60, 80, 99, 100} {
		for _, u := range s.next("s", openmanus.Event{Body: openmanus.Typing{Read: percent}}) {
			told = append(told, u.SessionUpdate+" "+u.MessageID+" "+u.Content.(*content).Text+u.streamed)
		}
	}
	want := []string{
		"agent_thought_chunk t0.0? The model is reading the prompt, 26 %. ",
		"agent_thought_chunk t0.0? The model is reading the prompt, 60 %. ",
		"agent_thought_chunk t0.0? The model is reading the prompt, 80 %. ",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// TestStoryOfEverything gives the story each body there is, in any order.
func TestStoryOfEverything(t *testing.T) {
	var s Story
	shown := newScreen()
	bodies := journaltest.Bodies()
	for i, b := range append(bodies, bodies...) {
		for _, u := range s.next("s", openmanus.Event{Seq: int64(i + 1), Body: b}) {
			shown.show(t, u)
		}
	}
	if len(shown.calls) == 0 || len(shown.texts) == 0 || shown.mode == "" {
		t.Errorf("%+v", shown)
	}
}

// TestOutput follows a command that prints: an update replaces what the editor showed of the
// call, so each has the end of all that was printed, and no more than an editor can show.
func TestOutput(t *testing.T) {
	var s Story
	call := llm.Call{ID: "c", Name: "bash", Input: `{"command":"make"}`}
	s.next("s", openmanus.Event{Seq: 1, Body: openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}}}})
	long := strings.Repeat("a line of fifteen\n", 1000)
	for _, c := range []struct {
		at   int64
		text string
		want string
	}{
		{0, "one\n", "one\n"},
		{4, "two\n", "one\ntwo\n"},
		{8, long, "…\n" + long[len(long)-8190:]}, // the first line of the end is not whole
		{0, "anew\n", "anew\n"},
		{900, "later\n", "…\nlater\n"},
	} {
		got := s.next("s", openmanus.Event{Body: openmanus.Output{Call: "c", At: c.at, Text: c.text}})
		var content []toolContent
		if len(got) == 1 {
			content, _ = got[0].Content.([]toolContent)
		}
		if len(content) != 1 || content[0].Content.Text != c.want {
			t.Errorf("after %q it shows %+v", c.text[:4], got)
		}
	}
	s.next("s", openmanus.Event{Seq: 2, Body: openmanus.CallDone{Call: "c"}})
	if got := s.next("s", openmanus.Event{Body: openmanus.Output{Call: "c", At: 5, Text: "late"}}); got != nil {
		t.Errorf("after the result it shows %+v", got)
	}
}

// TestPlan: only the result of a tool for plans changes the editor's plan.
func TestPlan(t *testing.T) {
	for name, want := range map[string]bool{"planning": true, "mcp_insurer": false} {
		var s Story
		shown := newScreen()
		for i, b := range []openmanus.Body{
			openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c", Name: name, Input: `{"command":"list"}`}}}},
			openmanus.CallDone{Call: "c", Detail: []byte(`{"plans":[{"plan_id":"p1","steps":[{"text":"look"}]}]}`)},
		} {
			for _, u := range s.next("s", openmanus.Event{Seq: int64(i + 1), Body: b}) {
				shown.show(t, u)
			}
		}
		if got := shown.plan != ""; got != want {
			t.Errorf("after a result of %s the plan is %q", name, shown.plan)
		}
	}
}

// FuzzFrame holds that no line stops the reader, and that an error names its reason.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":{},"result":3}`))
	f.Add([]byte("[]\n\n{\"id\":null}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for {
			line, err := readFrame(r)
			if err != nil {
				return
			}
			m, bad := parse(line)
			if bad != nil && (bad.Code == 0 || bad.Message == "") {
				t.Fatalf("%q: %+v", line, bad)
			}
			var p sessionParams
			if bad == nil && decode(m.Params, &p) == nil {
				_, _ = messageOf(p.Prompt)
				if at, err := readPlace(p.Meta.After); err == nil && at.seq < 0 {
					t.Fatalf("%q", p.Meta.After)
				}
			}
		}
	})
}

// TestDiffs reads the hunks of diffs as changes of files.
func TestDiffs(t *testing.T) {
	n := new(node)
	n.session.State.Config.Workspace = "/w"
	diff := "--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9 +9,2 @@\n nine\n+--- ten\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+hello\n"
	got := n.diffs(strings.Split(diff, "\n"))
	var b strings.Builder
	for _, c := range got {
		old := "nothing"
		if c.OldText != nil {
			old = strconv.Quote(*c.OldText)
		}
		fmt.Fprintf(&b, "%s: %s -> %q\n", c.Path, old, *c.NewText)
	}
	want := "/w/x.go: \"one\\ntwo\\nthree\\n\" -> \"one\\n2\\nthree\\n\"\n/w/x.go: \"nine\\n\" -> \"nine\\n--- ten\\n\"\n/w/new: nothing -> \"hello\\n\"\n"
	if b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
}
