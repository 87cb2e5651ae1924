package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
)

// Segments are the consecutive pieces of a request's body. Their bytes never
// change, because a transport may still read them after the request has ended.
type Segments [][]byte

// Size returns the number of bytes.
func (s Segments) Size() (n int64) {
	for _, b := range s {
		n += int64(len(b))
	}
	return n
}

// Open returns a reader of all bytes, for [http.Request].GetBody.
func (s Segments) Open() (io.ReadCloser, error) {
	return &segmentsReader{rest: append(net.Buffers(nil), s...)}, nil
}

// A segmentsReader reads segments. It is an [io.WriterTo], so that net/http, which
// looks for what follows the last byte of a body, needs no buffer for that.
type segmentsReader struct{ rest net.Buffers }

func (r *segmentsReader) Read(p []byte) (int, error)         { return r.rest.Read(p) }
func (r *segmentsReader) WriteTo(w io.Writer) (int64, error) { return r.rest.WriteTo(w) }
func (r *segmentsReader) Close() error                       { return nil }

// put makes s the body of r.
func (s Segments) put(r *http.Request) {
	r.ContentLength, r.GetBody = s.Size(), s.Open
	r.Body, _ = s.Open()
}

// Bytes returns all bytes in one piece.
func (s Segments) Bytes() []byte { return bytes.Join(s, nil) }

// A Format encodes requests in the format of one provider, for one model. It is a
// key in an [llm.Memo], so it must be comparable, and does not change.
type Format interface {
	// Head returns the body up to the first message. It depends only on the
	// parts of req that do not change under one [llm.Memo].
	Head(req *llm.Request) ([]byte, error)
	// Message returns messages[i], with a comma before each message that it
	// becomes in the format; nothing, if there is nothing to send. It depends
	// only on that message and those before it. No one changes the result. The
	// images of messages[i] are those that the provider takes: see [Seer].
	Message(messages []llm.Message, i int) ([]byte, error)
	// Tail returns the body after the last message.
	Tail(req *llm.Request) ([]byte, error)
}

// A Joiner is a [Format] that joins the pieces of a body itself, such as with marks
// for a cache. The pieces of other formats are joined by [Body.Segments].
type Joiner interface {
	Join(req *llm.Request, b Body) (Segments, error)
}

// A Body is a request's body in pieces, of which each grows at its end alone. Head
// and Fixed are shared with the memo of the request and with later requests: their
// bytes are never written again.
type Body struct {
	Head  []byte
	Fixed []byte // the fixed messages
	Ends  []int  // where each of them ends in Fixed
	Fresh []byte // the others
	Last  []int  // where each of them ends in Fresh
	Tail  []byte
}

// Segments returns all of b. It leaves out the comma before the first message if
// the head ends with the opening bracket of the list.
func (b Body) Segments() Segments {
	fixed, fresh := b.Fixed, b.Fresh
	switch {
	case !bytes.HasSuffix(b.Head, []byte("[")):
	case len(fixed) > 0:
		fixed = fixed[1:]
	case len(fresh) > 0:
		fresh = fresh[1:]
	}
	return Segments{b.Head, fixed, fresh, b.Tail}
}

// Marked returns all of b with a marker for a cache in two places at most: in the
// last fixed message that is not the assistant's; and in the last such message
// before the last reply, where the request before this one had its last marker.
// Each stands back bytes before the end of the message. The first skip bytes of
// the messages are left out.
func (b Body) Marked(messages []llm.Message, skip, back int, marker []byte) Segments {
	out := Segments{b.Head}
	for _, at := range b.marks(messages) {
		out = append(out, b.Fixed[skip:at-back:at-back], marker)
		skip = at - back
	}
	return append(out, b.Fixed[skip:], b.Fresh, b.Tail)
}

// marks returns the ends of the messages that get a marker, in order.
func (b Body) marks(messages []llm.Message) (at []int) {
	replied := true // a message may be marked: it is the first, or a reply came between
	for i, end := range slices.Backward(b.Ends) {
		begin := 0
		if i > 0 {
			begin = b.Ends[i-1]
		}
		switch {
		case messages[i].Role == llm.Assistant:
			replied = true
		case replied && end > begin:
			at = append(at, end)
			replied = false
		}
		if len(at) == 2 {
			break
		}
	}
	slices.Reverse(at)
	return at
}

// kept is what a Format keeps of a conversation in an [llm.Memo]. Requests of one
// conversation may be encoded at the same time, as a summary is beside a reply; the
// shorter one gets the beginning of what the longer one has encoded.
type kept struct {
	mu   sync.Mutex
	head []byte
	text []byte // the fixed messages; only ever appended to
	ends []int  // where each of them ends in text
}

// Encode returns the body of req in the format f. It keeps the encoded head and
// fixed messages in req's memo, under f itself, so that each is encoded once, and
// every later body begins with the same bytes.
func Encode(req *llm.Request, f Format) (Segments, error) {
	b, err := pieces(req, f)
	if err != nil {
		return nil, err
	}
	if j, ok := f.(Joiner); ok {
		return j.Join(req, b)
	}
	return b.Segments(), nil
}

// pieces returns the body of req in pieces. It encodes only what the memo lacks.
func pieces(req *llm.Request, f Format) (Body, error) {
	k, _ := req.Memo.Load(f).(*kept)
	if k == nil {
		k = new(kept)
		req.Memo.Store(f, k)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.head == nil {
		head, err := f.Head(req)
		if err != nil {
			return Body{}, err
		}
		k.head = head
	}
	fixed := min(max(req.Fixed, 0), len(req.Messages))
	if err := k.keep(f, req.Messages[:fixed]); err != nil {
		return Body{}, err
	}
	b := Body{Head: k.head, Ends: k.ends[:fixed:fixed]}
	if fixed > 0 {
		b.Fixed = k.text[:k.ends[fixed-1]:k.ends[fixed-1]]
	}
	for i := fixed; i < len(req.Messages); i++ {
		m, err := f.Message(shown(f, req.Messages, i), i)
		if err != nil {
			return Body{}, Wrongf("message %d: %w", i+1, err)
		}
		b.Fresh = append(b.Fresh, m...)
		b.Last = append(b.Last, len(b.Fresh))
	}
	var err error
	b.Tail, err = f.Tail(req)
	b.Tail = leaveOut(b.Tail, req.Without)
	return b, err
}

// keep encodes those of the fixed messages that were not encoded before.
func (k *kept) keep(f Format, fixed []llm.Message) error {
	for i := len(k.ends); i < len(fixed); i++ {
		b, err := f.Message(shown(f, fixed, i), i)
		if err != nil {
			return Wrongf("message %d: %w", i+1, err)
		}
		k.text = append(k.text, b...)
		k.ends = append(k.ends, len(k.text))
	}
	return nil
}

// JSON is json.Marshal without escapes for <, > and &.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustJSON is [JSON] for values that can always be encoded. It panics otherwise.
func MustJSON(v any) []byte {
	b, err := JSON(v)
	if err != nil {
		panic(fmt.Sprintf("wire: encode %T: %v", v, err))
	}
	return b
}

// ToolChoice checks the setting tool_choice of req. mode is "" (nothing to send),
// "auto", "none", "required", or "tool" for the tool called name.
func ToolChoice(req *llm.Request) (mode, name string, err error) {
	choice := req.Settings.ToolChoice
	name, named := strings.CutPrefix(choice, "tool:")
	switch {
	case choice == "" || len(req.Tools) == 0 && (choice == "auto" || choice == "none"):
		return "", "", nil
	case choice == "auto" || choice == "none":
		return choice, "", nil
	case choice == "required" && len(req.Tools) > 0:
		return choice, "", nil
	case choice == "required":
		return "", "", Wrongf("the setting tool_choice is %q, and there are no tools", choice)
	case named && slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == name }):
		return "tool", name, nil
	case named:
		return "", "", Wrongf("the setting tool_choice is %q, and there is no such tool", choice)
	}
	return "", "", Wrongf("the setting tool_choice is %q: it is auto, none, required or tool:NAME", choice)
}

// Strict reports whether providers enforce the whole of schema: every object in it
// requires all its properties and allows no others.
func Strict(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
		Type       any                        `json:"type"`
		Ref        string                     `json:"$ref"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type == nil && s.Ref == "" && s.AnyOf == nil {
		return false
	}
	if s.Type == "object" && (s.Additional != false || len(s.Required) != len(s.Properties)) {
		return false
	}
	inner := slices.Clone(s.AnyOf)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		inner = append(inner, p)
	}
	inner = slices.AppendSeq(inner, maps.Values(s.Defs))
	if s.Items != nil {
		inner = append(inner, s.Items)
	}
	return !slices.ContainsFunc(inner, func(s json.RawMessage) bool { return !Strict(s) })
}

// CallID returns id for providers that accept only letters, digits, _ and -, and 64
// characters at most. For an id that they refuse it returns another one, always
// the same for the same id.
func CallID(id string) string {
	if 0 < len(id) && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
