package openai

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus/llm"
)

// An item is a message of a conversation that a client sends.
type item struct {
	at    string // the field, such as messages[1]
	role  string // system, user, assistant or tool
	parts llm.Parts
	calls []llm.Call // of the assistant
	call  string     // tool: the id of the call whose result parts are
}

// A part is a piece of content in any of the three formats.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
	File     *struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
	} `json:"file"`
	FileName string `json:"filename"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Source   *struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
		URL   string `json:"url"`
	} `json:"source"`
	Title string `json:"title"`

	// of tool_use and tool_result
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Call    string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

// A reader reads content of messages. It fetches what has an address.
type reader struct {
	ctx   context.Context
	fetch func(ctx context.Context, url string) (mime string, data []byte, err error)

	// past says that the message is the assistant's, or before one of it: it is not answered, and
	// only the text of a transcript is made of it. So nothing is fetched, and a part of a
	// type that is not known here is named.
	past bool
}

// at returns the reader of message i of a list in which role returns who speaks.
func (r reader) at(i, n int, role func(i int) string) reader {
	for r.past = false; i < n && !r.past; i++ {
		r.past = role(i) == "assistant"
	}
	return r
}

// content reads a string or a list of parts.
func (r reader) content(at string, raw json.RawMessage) (llm.Parts, error) {
	parts, err := partsOf(at, raw)
	if err != nil {
		return nil, err
	}
	return r.parts(at, parts)
}

// partsOf decodes content, which is a string or a list of parts. null and "" are no parts.
func partsOf(at string, raw json.RawMessage) ([]part, error) {
	var text *string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text == nil || *text == "" {
			return nil, nil
		}
		return []part{{Type: "text", Text: *text}}, nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, bad(at, "it must be a string or a list of parts")
	}
	return parts, nil
}

// parts reads the parts of a message. Empty texts are dropped.
func (r reader) parts(at string, parts []part) (llm.Parts, error) {
	var all llm.Parts
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		read, err := r.part(at, p)
		if err != nil {
			return nil, err
		}
		if t, ok := read.(llm.Text); !ok || t.Text != "" {
			all = append(all, read)
		}
	}
	return all, nil
}

// part reads one part of any of the formats: a text, an image or a file. An unknown type
// is an error that names it.
func (r reader) part(at string, p part) (llm.Part, error) {
	switch kind := cmp.Or(p.Type, "part"); {
	case !r.past, kind == "text", kind == "input_text", kind == "output_text", kind == "refusal":
	default:
		return llm.Text{Text: "\n[" + strings.TrimPrefix(kind, "input_") + ", which is not repeated here]\n"}, nil
	}
	switch p.Type {
	case "text", "input_text", "output_text":
		return llm.Text{Text: p.Text}, nil
	case "refusal":
		return llm.Text{Text: p.Refusal}, nil
	case "image_url", "input_image":
		return r.file(at+".image_url", "", urlOf(p.ImageURL))
	case "file":
		if p.File == nil || p.File.ID != "" {
			return nil, bad(at+".file", "give file_data: files are not kept here, so there is no file_id")
		}
		return r.file(at+".file.file_data", p.File.Name, p.File.Data)
	case "input_file":
		return r.file(at, p.FileName, p.FileData+p.FileURL)
	case "image", "document":
		return r.source(at+".source", p)
	}
	return nil, bad(at+".type", quote(p.Type)+" is not supported: give text, images and files")
}

// source reads the source of an image or a document in Anthropic's format.
func (r reader) source(at string, p part) (llm.Part, error) {
	s := p.Source
	switch {
	case s == nil:
		return nil, bad(at, "there is none")
	case s.Type == "base64":
		return r.file(at+".data", p.Title, "data:"+s.Media+";base64,"+s.Data)
	case s.Type == "url":
		return r.file(at+".url", p.Title, s.URL)
	case s.Type == "text":
		return llm.Text{Text: s.Data}, nil
	}
	return nil, bad(at+".type", "it must be base64, url or text")
}

// urlOf returns the address of an image, which clients give as a string or as an object
// with url. Anything else is "".
func urlOf(raw json.RawMessage) (url string) {
	var o struct{ URL string }
	if json.Unmarshal(raw, &url) != nil {
		_ = json.Unmarshal(raw, &o) // no address is reported by the caller
		url = o.URL
	}
	return url
}

// maxText is the most bytes of a file whose text becomes part of the prompt.
const maxText = 1 << 20

// file reads a file that is a data: URL, or plain base64, or stands at an https address,
// from which it is fetched.
func (r reader) file(at, name, url string) (llm.Part, error) {
	var kind string
	var data []byte
	var err error
	switch {
	case strings.HasPrefix(url, "https://"):
		if kind, data, err = r.fetch(r.ctx, url); err != nil {
			return nil, bad(at, "it cannot be fetched: "+err.Error())
		}
	default:
		head, body, ok := strings.Cut(url, ";base64,")
		if !ok {
			head, body = "", url
		}
		kind = strings.TrimPrefix(head, "data:")
		if data, err = base64.StdEncoding.DecodeString(body); err != nil || url == "" {
			return nil, bad(at, "it must be a data: URL in base64, or an https address")
		}
	}
	kind, _, _ = strings.Cut(kind, ";")
	switch {
	case strings.HasPrefix(kind, "image/"), kind == "application/pdf", strings.HasPrefix(string(data), "%PDF-"):
		if !strings.HasPrefix(kind, "image/") {
			kind = "application/pdf"
		}
		return llm.Blob{MIME: kind, Name: name, Data: data}, nil
	case utf8.Valid(data) && len(data) <= maxText:
		return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", name, strings.TrimSuffix(string(data), "\n"))}, nil
	}
	return nil, bad(at, "it is neither an image nor a PDF nor text of at most 1 MiB")
}

// A result is what the client's tool returned for a call.
type result struct{ session, call, text, at string }

// callID returns the id of a call as the client knows it: it names the session.
func callID(session, call string) string { return "call_" + session + "_" + call }

// parseCall undoes callID.
func parseCall(id string) (session, call string, ok bool) {
	rest, ok := strings.CutPrefix(id, "call_")
	session, call, found := strings.Cut(rest, "_")
	return session, call, ok && found && session != "" && call != ""
}

// say puts a conversation into the request: system messages become instructions; the
// results after the assistant's last message are those of a session that waits for them;
// and what the user says after it is new. Earlier messages become a transcript, unless the
// request names a session, which has them. So do results of calls that are none of ours:
// clients keep what another model has done.
func (q *request) say(items []item, field string) error {
	var rest []item
	var system []string
	for _, i := range items {
		if i.role == "system" {
			system = append(system, i.parts.Text())
		} else {
			rest = append(rest, i)
		}
	}
	q.client.Instructions = strings.Join(system, "\n\n")
	tail := lastOfAssistant(rest)
	named, ours := q.session, true
	var said []item // what is new
	for _, m := range rest[tail:] {
		if m.role != "tool" {
			said = append(said, m)
			continue
		}
		session, call, ok := parseCall(m.call)
		if named != "" && (!ok || session != named) {
			return bad(m.at+".tool_call_id", "no call of this session has the id "+quote(m.call))
		}
		ours = ours && ok && (q.session == "" || session == q.session)
		q.session = session
		q.results = append(q.results, result{session, call, m.parts.Text(), m.at})
	}
	if named == "" && len(q.results) > 0 {
		q.afresh = fromTheBeginning(rest)
	}
	switch {
	case !ours:
		q.session, q.results, q.said = "", nil, q.afresh
	case len(q.results) > 0:
		for _, m := range said {
			q.said = append(q.said, m.parts...)
		}
	case len(said) == 0 || len(said[len(said)-1].parts) == 0:
		return bad(field, "the last message must be one of the user, with content")
	case named != "":
		q.said = said[len(said)-1].parts
	default:
		q.said = fromTheBeginning(rest)
	}
	return nil
}

// lastOfAssistant returns the place after the last message of the assistant.
func lastOfAssistant(list []item) (after int) {
	for i, m := range list {
		if m.role == "assistant" {
			after = i + 1
		}
	}
	return after
}

// fromTheBeginning returns the message that begins a new session with a conversation: the
// user's last messages, after a transcript of those before.
func fromTheBeginning(list []item) llm.Parts {
	n := len(list)
	for n > 0 && list[n-1].role == "user" {
		n--
	}
	var now llm.Parts
	for _, m := range list[n:] {
		now = append(now, m.parts...)
	}
	if list = list[:n]; len(now) == 0 {
		now = llm.Parts{llm.Text{Text: "Go on."}}
	}
	if text := transcript(list); text != "" {
		return append(llm.Parts{llm.Text{Text: text}}, now...)
	}
	return now
}

// transcript returns earlier messages as one text, for a new session that begins with
// them. It is "" if they say nothing. Images and files are named.
func transcript(past []item) string {
	var b strings.Builder
	for _, m := range past {
		text := ""
		for _, p := range m.parts {
			switch p := p.(type) {
			case llm.Text:
				text += p.Text
			case llm.Blob:
				text += "\n[" + cmp.Or(p.MIME, "a file") + strings.TrimRight(" "+p.Name, " ") + ", which is not repeated here]\n"
			}
		}
		for _, c := range m.calls {
			text += "\n[called " + c.Name + " " + c.Input + "]"
		}
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", m.role, text, m.role)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "The conversation so far:\n" + b.String() + "\nNow:\n"
}
