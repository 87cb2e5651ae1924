package openmanus

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/internal/provenance"
	"github.com/openmanus-go/openmanus/internal/records"
	"github.com/openmanus-go/openmanus/llm"
)

// A Source says where a text came from. It is the label that everything a session
// knows has: messages, results, reports of children, descriptions of foreign
// tools. Labels are in the events, so that they are the same whenever a journal is
// folded.
type Source struct {
	// From is one of the words below, a URL, or one of these with a name: the
	// name of an MCP server after FromMCP, that of an agent after FromA2A, a path
	// after FromFile, relative to the workspace, the id of a session after FromSession.
	From string `json:"from"`

	// Trusted means that the text says what the user wants: the user, or the
	// user's configuration, wrote it. Texts of others are data: a model may use
	// them, and does not have to obey them.
	Trusted bool `json:"trusted,omitempty"`

	// Private means that not everyone may read the text: it came from the user,
	// the workspace, or a service where the user is known.
	Private bool `json:"private,omitempty"`

	// Words, if there are any, are all that came from here, of a text that has
	// several sources. Without Words, all of the text did.
	Words []string `json:"words,omitempty"`
}

// The sources that have no name of their own, and the beginnings of those that do.
const (
	FromPerson  = "person"   // the user of the session
	FromProgram = "program"  // this program, or its configuration
	FromNetwork = "network"  // what a command read that had more than the sandbox gives: anyone
	FromClient  = "client"   // a tool that the program runs which uses this one: see [Client]
	FromMCP     = "mcp:"     // and the name of a server
	FromA2A     = "a2a:"     // and the name of an agent elsewhere
	FromTrigger = "trigger:" // and the name of a trigger, to which another service posted
	FromFile    = "file:"    // and a path; "." is the workspace, no file in particular
	FromSession = "session:" // and the id of another session
)

// Person returns the label of what the user of a session says.
func Person() Source { return Source{From: FromPerson, Trusted: true, Private: true} }

// FileSource returns the label of a file of the workspace. Whoever wrote it, a file
// may repeat what others wrote, so it is not trusted.
func FileSource(path string) Source { return Source{From: FromFile + path, Private: true} }

// A Passage is a text that a session knows, with its sources.
type Passage struct {
	Seq     int64 // the event that it came with
	Text    string
	Call    string // the call whose result it is, or ""; and its tool and arguments
	Tool    string
	Input   string
	Sources []Source
}

// An ArgumentSource is the record of where a part of an argument came from. It is
// what people read of a [Provenance].
type ArgumentSource struct {
	Argument string `json:"argument"` // such as "url" or "to[0]"
	From     string `json:"from"`     // see [Source]
	Trusted  bool   `json:"trusted"`
	Private  bool   `json:"private"`
	Text     string `json:"text,omitempty"` // the part, at most 80 bytes of it
	As       string `json:"as,omitempty"`   // how it was disguised, such as "base64"
}

// A Provenance says where the arguments of a call came from. It is a function of
// the state of the session: the same in a replay.
type Provenance struct {
	// Read has the sources that are not trusted and that the session has read,
	// each once, the last one last. If there is none, no one but the user has
	// spoken to the model, and its words count as the user's.
	Read []Source

	// Said is what the user said, and Responses are what services answered, both the
	// oldest first. A gate reads from them which things of a service the user
	// named. Do not change them.
	Said      []string
	Responses []Response

	// Arguments are the strings and numbers among the arguments, in the order
	// of their names.
	Arguments []Argued
}

// A Response is the result of a call of a tool that is somewhere else.
type Response struct {
	Tool    string // its name
	Input   string // the arguments of the call
	Text    string
	Records []records.Record // in Text; all else is Prose
	Prose   string
}

// An Argued is a string or a number among the arguments of a call.
type Argued struct {
	Name  string // such as "url", "to[0]" or "header.subject"
	Value string
	Parts []Found // in order of From, then Source; they may overlap
}

// A Found is a part of an argument that was found in a source. A part that was found
// in several sources has a Found for each.
type Found struct {
	From, To int // the part is Value[From:To]
	Source   Source
	As       string // how it was disguised; "": it stands there
	Bytes    int    // how long it is in the source

	// Field means that a service answered with a record that has it in a field,
	// alone: an identifier, a name. Otherwise it stands in prose, which says what
	// its writer wants.
	Field bool
}

// Record returns what an event keeps of p: for each argument and source the longest
// part, at most 8 sources for each argument. Sources that are not trusted come
// first.
func (p *Provenance) Record() []ArgumentSource {
	if p == nil {
		return nil
	}
	const most, clip = 8, 80
	var list []ArgumentSource
	for _, a := range p.Arguments {
		longest := make(map[string]Found)
		for _, o := range a.Parts {
			if l, ok := longest[o.Source.From]; !ok || o.Bytes > l.Bytes {
				longest[o.Source.From] = o
			}
		}
		froms := slices.SortedFunc(maps.Keys(longest), func(x, y string) int {
			a, b := longest[x], longest[y]
			if a.Source.Trusted != b.Source.Trusted {
				if b.Source.Trusted {
					return -1
				}
				return 1
			}
			if a.Bytes != b.Bytes {
				return b.Bytes - a.Bytes
			}
			return strings.Compare(x, y)
		})
		for _, from := range froms[:min(len(froms), most)] {
			o := longest[from]
			text := a.Value[o.From:o.To]
			list = append(list, ArgumentSource{
				Argument: a.Name, From: from, Trusted: o.Source.Trusted, Private: o.Source.Private,
				Text: strings.ToValidUTF8(text[:min(len(text), clip)], ""), As: o.As,
			})
		}
	}
	return list
}

// Passages returns what the session knows, in the order in which it came to know
// it. Do not change the slice.
func (s *State) Passages() []Passage { return s.passages }

// Read returns the sources that are not trusted and that the session has read, each
// once, without Words, the last one last.
func (s *State) Read() []Source { return slices.Clip(s.read) }

// SourcesOf returns the sources of what a blob holds: a long result, or what a
// compaction replaced. It is nil if the session does not know the blob.
func (s *State) SourcesOf(blob Ref) []Source { return s.blobSources[blob] }

// FileSources returns the sources of a file, whose path is absolute or relative to the
// workspace: the file itself, and those of what calls of this session wrote into it.
func (s *State) FileSources(name string) []Source {
	name = s.inWorkspace(name)
	return append([]Source{FileSource(name)}, s.fileSources[name]...)
}

// inWorkspace returns a path as relative to the workspace, if it is in there.
func (s *State) inWorkspace(name string) string {
	name = path.Clean(filepath.ToSlash(name))
	if ws := path.Clean(filepath.ToSlash(s.Config.Workspace)); ws != "/" {
		if rel, ok := strings.CutPrefix(name, ws+"/"); ok {
			return rel
		}
		if name == ws {
			return "."
		}
	}
	return name
}

// Provenance returns where the arguments of a call, given as JSON, came from.
func (s *State) Provenance(input string) *Provenance {
	p := &Provenance{Read: s.Read()}
	var v any
	dec := json.NewDecoder(strings.NewReader(input))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return p
	}
	p.add("", v)
	if len(p.Arguments) == 0 || len(s.passages) == 0 {
		return p
	}
	s.known.find(s.passages, p)
	return p
}

// IndexPassages does in advance most of the work of Provenance: to index what the
// session has learned since, at about 0.1 ms for each KB. A worker calls it while a
// model replies. It does nothing before the first call of Provenance, which most
// sessions never need, and leaves texts of more than 64 KB to Provenance. Other
// goroutines may use clones of s meanwhile.
func (s *State) IndexPassages() {
	if s.known != nil {
		s.known.prepare(s.passages)
	}
}

// TextProvenance is Provenance for a text that is no call's, such as a task for a
// child session.
func (s *State) TextProvenance(text string) *Provenance {
	data, _ := json.Marshal(text) // a string always encodes
	return s.Provenance(string(data))
}

// add adds the strings and numbers in v, which is the argument called name.
func (p *Provenance) add(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub := key
			if name != "" {
				sub = name + "." + key
			}
			p.add(sub, v[key])
		}
	case []any:
		for i, e := range v {
			p.add(fmt.Sprintf("%s[%d]", name, i), e)
		}
	case string:
		if v != "" {
			p.Arguments = append(p.Arguments, Argued{Name: name, Value: v})
		}
	case json.Number:
		p.Arguments = append(p.Arguments, Argued{Name: name, Value: v.String()})
	}
}

// learn adds a text that came with the event seq to what the session knows.
func (s *State) learn(seq int64, text string, sources ...Source) {
	if len(sources) == 0 || text == "" && !hasWords(sources) {
		return
	}
	sources = s.foreign(seq, sources)
	s.passages = append(s.passages, Passage{Seq: seq, Text: text, Sources: sources})
	if s.known == nil {
		s.known = new(knowledge)
	}
	for _, src := range sources {
		if src.Trusted {
			continue
		}
		src.Words = nil
		others := slices.DeleteFunc(slices.Clone(s.read), func(o Source) bool { return o.From == src.From })
		s.read = append(others, src) // clones of the state share the old one
	}
}

// foreign returns sources as this session takes them that the event seq records:
// those of an imported event are what its maker says, so none of them is trusted.
func (s *State) foreign(seq int64, sources []Source) []Source {
	o := s.Opened.From
	if o == nil || !o.Foreign || seq > o.Seq || !slices.ContainsFunc(sources, func(src Source) bool { return src.Trusted }) {
		return sources
	}
	sources = slices.Clone(sources)
	for i, src := range sources {
		if src.Trusted {
			sources[i] = Source{From: FromSession + o.Session, Private: true, Words: src.Words}
		}
	}
	return sources
}

func hasWords(sources []Source) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return len(s.Words) > 0 })
}

// learnMessage adds what the user, or the session that delegates, says. The first
// part of the note is this program's; the others are the files of the workspace
// that instruct agents.
func (s *State) learnMessage(seq int64, e UserSaid) {
	for i, p := range e.Note {
		t, ok := p.(llm.Text)
		switch {
		case !ok:
		case i == 0:
			s.learn(seq, t.Text, Source{From: FromProgram, Trusted: true, Private: true})
		case len(e.NoteSources) > 0:
			s.learn(seq, t.Text, e.NoteSources...)
		default:
			s.learn(seq, t.Text, FileSource("AGENTS.md"))
		}
	}
	sources := e.Sources
	if len(sources) == 0 {
		sources = []Source{Person()}
	}
	s.learn(seq, e.Message.Text(), sources...)
	for _, ref := range e.Whole {
		s.noteRef(ref)
		s.noteBlob(ref, sources)
	}
}

// learnResult adds the result of a call.
func (s *State) learnResult(seq int64, c *CallState, e CallDone) {
	s.noteRef(e.Whole)
	sources := e.Sources
	if len(sources) == 0 { // from before results had sources, or words of this program
		if sources = s.guessSources(c, e); sources == nil {
			return
		}
	}
	s.learn(seq, e.Parts.Text(), sources...)
	if n := len(s.passages); n > 0 && s.passages[n-1].Seq == seq {
		s.passages[n-1].Call, s.passages[n-1].Tool, s.passages[n-1].Input = e.Call, c.Name, c.Arguments()
	}
	s.noteBlob(e.Whole, s.foreign(seq, sources))
}

// learnBlobs remembers the sources of what was moved out of the model's sight.
func (s *State) learnBlobs(b Body) {
	switch e := b.(type) {
	case Elided:
		for _, c := range e.Calls {
			s.noteRef(c.Whole)
			i := slices.IndexFunc(s.passages, func(p Passage) bool { return p.Call == c.Call })
			if i >= 0 {
				s.noteBlob(c.Whole, s.passages[i].Sources)
			}
		}
	case Compacted:
		s.noteRef(e.Whole)
		s.noteBlob(e.Whole, append(s.Read(), Person()))
	}
}

// guessSources returns the sources of a result that records none. Texts of this
// program about the session itself have none.
func (s *State) guessSources(c *CallState, e CallDone) []Source {
	spec := s.specs[c.Name]
	switch {
	case spec.From != "":
		return []Source{{From: spec.From, Private: true}}
	case e.Source != "" && strings.Contains(e.Source, "://"):
		return []Source{{From: e.Source}}
	case e.Source != "":
		return []Source{FileSource(e.Source)}
	case c.Hints.Internal, c.Hints.Final, e.IsError && c.Attempts == 0:
		return nil
	}
	return []Source{FileSource(".")}
}

// noteBlob remembers the sources of a blob.
func (s *State) noteBlob(ref Ref, sources []Source) {
	if ref == "" {
		return
	}
	m := maps.Clone(s.blobSources) // clones of the state share it
	if m == nil {
		m = make(map[Ref][]Source)
	}
	m[ref] = sources
	s.blobSources = m
}

// noteWritten remembers what a call that has succeeded wrote into files: the sources of
// its arguments that are not trusted, and of what it brought from elsewhere.
func (s *State) noteWritten(c *CallState, e CallDone) {
	if c.Ruled == nil || c.Hints.ReadOnly {
		return
	}
	known := c.Ruled.Sources
	if c.Ruling != nil { // a person allowed it
		known = c.Ruling.Sources
	}
	var from []Source
	add := func(name string, trusted, private bool) {
		if !trusted && !slices.ContainsFunc(from, func(o Source) bool { return o.From == name }) {
			from = append(from, Source{From: name, Private: private})
		}
	}
	for _, a := range known {
		add(a.From, a.Trusted, a.Private)
	}
	for _, src := range e.Sources {
		if !strings.HasPrefix(src.From, FromFile) {
			add(src.From, src.Trusted, src.Private)
		}
	}
	if len(from) == 0 {
		return
	}
	for _, name := range s.written(c, e) {
		m := maps.Clone(s.fileSources)
		if m == nil {
			m = make(map[string][]Source)
		}
		name = s.inWorkspace(name)
		m[name] = slices.CompactFunc(slices.SortedFunc(slices.Values(append(slices.Clip(m[name]), from...)),
			func(x, y Source) int { return strings.Compare(x.From, y.From) }),
			func(x, y Source) bool { return x.From == y.From })
		s.fileSources = m
	}
}

// written returns the paths that a call wrote: those that its event names, or that the
// spec of its tool declares.
func (s *State) written(c *CallState, e CallDone) []string {
	if len(e.Wrote) > 0 {
		return e.Wrote
	}
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments()), &args) != nil {
		return nil
	}
	var names []string
	for _, a := range s.specs[c.Name].Arguments {
		if name, ok := args[a.Name].(string); ok && a.Kind == PathArgument && a.Does == Writes {
			names = append(names, name)
		}
	}
	return names
}

// knowledge is an index of the passages of a session. It is built when it is first
// asked, and grows with the session. The clones of a state share it; it is safe for
// concurrent use.
type knowledge struct {
	mu        sync.Mutex
	index     provenance.Index
	indexed   []Passage       // what index has
	sources   []indexedSource // by their number in index
	said      []string        // what the user said
	responses []Response      // of services
}

// An indexedSource is a source of texts in the index: of prose, or of the values of
// fields.
type indexedSource struct {
	Source
	field bool
}

// find adds to p where its arguments were found in the passages, and what the gate
// may ask besides.
func (k *knowledge) find(passages []Passage, p *Provenance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.update(passages)
	p.Said, p.Responses = slices.Clip(k.said), slices.Clip(k.responses)
	values := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		values[i] = a.Value
	}
	for i, matches := range k.index.FindAll(values) {
		a := &p.Arguments[i]
		for _, m := range matches {
			for _, n := range m.Sources {
				src := k.sources[n]
				a.Parts = append(a.Parts,
					Found{From: m.From, To: m.To, Source: src.Source, As: m.As, Bytes: m.Bytes, Field: src.field})
			}
		}
	}
}

// prepare brings the index up to passages, unless that takes long.
func (k *knowledge) prepare(passages []Passage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.indexed == nil {
		return // no one has asked yet
	}
	missing := 0
	for _, p := range passages[min(len(k.indexed), len(passages)):] {
		missing += len(p.Text)
	}
	if missing <= 64<<10 {
		k.update(passages)
	}
}

// update brings the index up to passages. If a clone of the state that took
// another way has filled it, it begins anew.
func (k *knowledge) update(passages []Passage) {
	same := func(a, b Passage) bool { return a.Seq == b.Seq && a.Text == b.Text }
	n := len(k.indexed)
	if n > len(passages) || n > 0 && !same(k.indexed[n-1], passages[n-1]) {
		k.index, k.indexed, k.sources, k.said, k.responses, n = provenance.Index{}, nil, nil, nil, nil, 0
	}
	for _, p := range passages[n:] {
		for _, src := range p.Sources {
			texts := src.Words
			if len(texts) == 0 {
				texts = []string{p.Text}
			}
			for _, t := range texts {
				k.add(p, src, t)
			}
		}
	}
	k.indexed = passages[:len(passages):len(passages)]
}

// add adds a text of a source of the passage p to the index. The answers of services
// are taken apart.
func (k *knowledge) add(p Passage, src Source, text string) {
	switch {
	case src.From == FromPerson:
		k.said = append(k.said, text)
	case strings.HasPrefix(src.From, FromMCP) && p.Tool != "":
		a := Response{Tool: p.Tool, Input: p.Input, Text: text}
		a.Records, a.Prose = records.Read(text)
		k.responses = append(k.responses, a)
		for _, r := range a.Records {
			for _, f := range r {
				if !f.Prose {
					k.index.Add(k.number(src, true), f.Value+"\n")
				}
			}
		}
		text = a.Prose
	}
	k.index.Add(k.number(src, false), text)
}

// number returns the number of a source in the index.
func (k *knowledge) number(src Source, field bool) int {
	i := slices.IndexFunc(k.sources, func(o indexedSource) bool {
		return o.From == src.From && o.Trusted == src.Trusted && o.Private == src.Private && o.field == field
	})
	if i < 0 {
		i = len(k.sources)
		src.Words = nil
		k.sources = append(k.sources, indexedSource{src, field})
	}
	return i
}
