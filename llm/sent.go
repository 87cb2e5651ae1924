package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	stdhash "hash"
	"slices"
	"strings"
)

// A Sent identifies the request that an event is the outcome of, so that a replay
// can tell whether today's program would send the same one, and if not, which part
// of it differs. Each digest is the first 16 hexadecimal digits of a SHA-256. The
// zero Sent stands for a request that was not recorded.
type Sent struct {
	System   string `json:"system"`   // digest of the system prompt
	Tools    string `json:"tools"`    // digest of the tools that are offered, in order
	Settings string `json:"settings"` // digest of the settings
	Messages int    `json:"messages"` // how many messages there are
	All      string `json:"all"`      // digest of all messages, in order
	// the digests of the last messages, with a space between them: at least of those
	// that the request before did not have, but of no more than maxSentLast
	Last string `json:"last"`
}

// maxSentLast is of how many messages a [Sent] has a digest of its own.
const maxSentLast = 16

// SentOf returns what identifies req. Equal requests have an equal result, but for
// Last, in every process. With a Memo it digests each of the Fixed messages once.
func SentOf(req *Request) Sent {
	var known sentMemo
	if m, ok := req.Memo.Load(sentKey{}).(sentMemo); ok && m.count <= len(req.Messages) {
		known = m
	} else {
		known.system = digestOf(func(w digester) { w.text(req.System) })
		known.tools = digestOf(func(w digester) {
			for _, t := range req.Tools {
				w.text(t.Name)
				w.text(t.Description)
				w.json(t.Input)
			}
		})
	}
	s := Sent{System: known.system, Tools: known.tools, Messages: len(req.Messages), Settings: digestOf(func(w digester) {
		data, _ := json.Marshal(req.Settings) // it holds nothing that does not encode
		w.json(data)
	})}
	all, from := known.all, known.count
	var last []string
	for i, m := range req.Messages[from:] {
		d := messageDigest(m)
		all = digestOf(func(w digester) { w.text(all); w.text(d) })
		last = append(last, d)
		if from+i+1 == req.Fixed {
			known.all, known.count = all, req.Fixed
			req.Memo.Store(sentKey{}, known)
		}
	}
	s.All, s.Last = all, strings.Join(last[max(0, len(last)-maxSentLast):], " ")
	return s
}

// A SentCache is [SentOf] for many requests that begin with the same messages, such as
// those of a session that is replayed: it digests each message once. Messages are the
// same if they share their parts, which nobody may change then. It is not safe for
// concurrent use.
type SentCache struct {
	system string
	tools  []ToolSpec
	head   Sent // digests of these
	seen   []sentMessage
}

// A sentMessage is a message of the request before: its parts, its digest, and that of
// the messages up to it.
type sentMessage struct {
	parts       Parts
	digest, all string
}

// Of returns what SentOf returns without a Memo.
func (c *SentCache) Of(req *Request) Sent {
	sameTool := func(a, b ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Input, b.Input)
	}
	if c.head == (Sent{}) || c.system != req.System || !slices.EqualFunc(c.tools, req.Tools, sameTool) {
		c.system, c.tools = req.System, slices.Clone(req.Tools)
		c.head = SentOf(&Request{System: req.System, Tools: req.Tools})
	}
	same := 0
	for same < min(len(c.seen), len(req.Messages)) && shared(c.seen[same].parts, req.Messages[same].Parts) {
		same++
	}
	c.seen = c.seen[:same]
	all := ""
	if same > 0 {
		all = c.seen[same-1].all
	}
	for _, m := range req.Messages[same:] {
		d := messageDigest(m)
		all = digestOf(func(w digester) { w.text(all); w.text(d) })
		c.seen = append(c.seen, sentMessage{m.Parts, d, all})
	}
	s := SentOf(&Request{Settings: req.Settings})
	s.System, s.Tools, s.Messages, s.All = c.head.System, c.head.Tools, len(req.Messages), all
	var last []string
	for _, m := range c.seen[max(0, len(c.seen)-maxSentLast):] {
		last = append(last, m.digest)
	}
	s.Last = strings.Join(last, " ")
	return s
}

// shared reports whether two messages have the same parts in memory, and have any.
func shared(a, b Parts) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// Differs names the part of the request of s that is another one in now: "system",
// "tools", "settings" or "messages". For messages, at is the index of the first that
// is known to differ, or -1 if it lies before those that both know. The part is "" if
// the requests are equal, or if one of them was not recorded.
func (s Sent) Differs(now Sent) (part string, at int) {
	switch {
	case s == Sent{} || now == Sent{}:
		return "", -1
	case s.System != now.System:
		return "system", -1
	case s.Tools != now.Tools:
		return "tools", -1
	case s.Settings != now.Settings:
		return "settings", -1
	case s.Messages == now.Messages && s.All == now.All:
		return "", -1
	}
	was, is := strings.Fields(s.Last), strings.Fields(now.Last)
	for i := max(s.Messages-len(was), now.Messages-len(is)); i < min(s.Messages, now.Messages); i++ {
		if was[i-s.Messages+len(was)] != is[i-now.Messages+len(is)] {
			return "messages", i
		}
	}
	if s.Messages != now.Messages {
		return "messages", min(s.Messages, now.Messages)
	}
	return "messages", -1
}

// A sentMemo is what [SentOf] keeps in a Memo: the digests of the head, and of the
// first count messages together.
type sentMemo struct {
	system, tools, all string
	count              int
}

// sentKey is the key of the sentMemo in a Memo.
type sentKey struct{}

// messageDigest returns the digest of one message.
func messageDigest(m Message) string {
	return digestOf(func(w digester) {
		w.text(string(m.Role))
		w.parts(m.Parts)
	})
}

// digestOf returns the digest of what write writes.
func digestOf(write func(digester)) string {
	w := digester{sha256.New()}
	write(w)
	var sum [sha256.Size]byte
	return hex.EncodeToString(w.Sum(sum[:0])[:8])
}

// A digester writes values to a hash so that different lists of values are
// different bytes: each has its length before it.
type digester struct{ stdhash.Hash }

func (w digester) count(n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	w.Write(b[:])
}

func (w digester) text(s string) {
	w.count(len(s))
	w.Write([]byte(s))
}

func (w digester) flag(set bool) {
	if set {
		w.count(1)
	} else {
		w.count(0)
	}
}

// json writes JSON in its shortest form: stores and files differ in the spaces.
func (w digester) json(data []byte) {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		b.Reset()
		b.Write(data)
	}
	w.text(b.String())
}

// parts writes parts, each with its type. Views are what they show: whether a text is
// one decides how long it stays, and not what is sent.
func (w digester) parts(parts Parts) {
	w.count(len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			w.text("text")
			w.text(p.Text)
			w.text(p.By)
			w.json(p.Opaque)
		case Thinking:
			w.text("thinking")
			w.text(p.Text)
			w.text(p.By)
			w.json(p.Opaque)
		case Blob:
			w.text("blob")
			w.text(p.MIME)
			w.text(p.Name)
			w.text(string(p.Data))
		case Call:
			w.text("call")
			w.text(p.ID)
			w.text(p.Name)
			w.text(p.Input)
			w.text(p.By)
			w.json(p.Opaque)
		case Result:
			w.text("result")
			w.text(p.ID)
			w.flag(p.IsError)
			w.parts(p.Parts)
		case Unknown: // sent to no model
		}
	}
}
