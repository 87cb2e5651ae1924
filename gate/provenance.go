package gate

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
)

// RuleProvenance is the rule of questions and denials that come from where the
// arguments of a call came from. Only a person answers such a question, each time:
// neither rules that allow, nor remembered decisions, nor the mode "all" do.
const RuleProvenance = "provenance"

// RuleReach is the rule of questions and denials about calls that go beyond the
// sandbox: see [openmanus.Hints].Reach. Only a person answers such a question, for
// this call or, if it is about the network, for this very command in the session.
const RuleReach = "reach"

// OnlyPerson reports whether questions of a rule are for a person alone: neither rules
// that allow, nor remembered decisions, nor the mode "all" answer them.
func OnlyPerson(rule string) bool { return rule == RuleProvenance || rule == RuleReach }

// A concern is why a call is not harmless, in view of where its arguments came
// from.
type concern struct {
	who  string // the source that is not trusted and wants it
	what string // what it wants, for people
}

// question returns what the person is asked.
func (c concern) question() string {
	return upperFirst(c.who) + " wants " + c.what + ". Allow it once?"
}

// concernOf looks at a call in a session that has read what others wrote. It
// returns nil if there is nothing to ask about. It knows three kinds of arguments:
//
//   - Arguments that say where (an address, a recipient, a command) may come from
//     the user, the configuration and trusted results. To follow a link that
//     stands in what was read is harmless, since the link carries nothing.
//   - Arguments that say what may come from anywhere, unless they carry what is
//     private to somewhere that the user did not name for it.
//   - Commands in a sandbox without a network, and edits of ordinary files, send
//     nothing and obey nothing, so they are not looked at.
//
// local means that all addresses of the call are of servers on this machine or in a
// private network, which the user wrote: what goes there does not leave.
func (g *Gate) concernOf(call openmanus.Call, spec openmanus.ToolSpec, f facts, local bool) *concern {
	h := spec.Hints
	if call.Provenance == nil || h.Final || h.Delegates || !g.reaches(spec, f) {
		return nil
	}
	if c := fetched(spec, f); c != nil {
		return c
	}
	p := call.Provenance()
	if len(p.Read) == 0 {
		return nil
	}
	j := judge{gate: g, call: call, known: p, spec: spec, facts: f, local: local, private: readPrivate(p.Read, spec.From)}
	for _, a := range p.Arguments {
		for _, look := range []func(argument) *concern{j.request, j.sending, j.running, j.leaving, j.protected} {
			if c := look(newArgument(a, spec)); c != nil {
				return c
			}
		}
	}
	if spec.From != "" {
		return j.foreign()
	}
	return nil
}

// fetched looks at a call that writes what it fetches into a file that programs outside
// the sandbox obey. The words are not among its arguments, and no one knows them.
func fetched(spec openmanus.ToolSpec, f facts) *concern {
	if !f.protected || spec.From != "" || len(f.hosts) == 0 || !slices.ContainsFunc(spec.Arguments, func(a openmanus.Argument) bool {
		return a.Does == openmanus.Requests
	}) {
		return nil
	}
	return &concern{"the host " + list(f.hosts), fmt.Sprintf("its words written into %s, from which programs outside the sandbox take orders",
		list(f.changed()))}
}

// reaches reports whether it matters where the arguments of a call came from: it sends
// something, runs something outside or with a network, or writes a file, whose words
// are known by their writers from then on.
func (g *Gate) reaches(spec openmanus.ToolSpec, f facts) bool {
	inside := g.sandboxed() && spec.Hints.Sandboxed && !g.o.Network
	return spec.From != "" || f.edits || f.protected || len(spec.Arguments) == 0 && !spec.Hints.Internal ||
		slices.ContainsFunc(spec.Arguments, func(a openmanus.Argument) bool {
			return a.Does == openmanus.Requests || a.Does == openmanus.Sends || a.Does == openmanus.Runs && !inside
		})
}

// readPrivate reports whether there is something private among what was read that
// the place at to does not know already.
func readPrivate(read []openmanus.Source, to string) bool {
	return slices.ContainsFunc(read, func(s openmanus.Source) bool { return s.Private && s.From != to })
}

// An argument is an argument of a call, with what its tool declares of it.
type argument struct {
	openmanus.Argued
	top      string // the name of the argument that it is, or is a part of
	declared []openmanus.Argument
}

func newArgument(a openmanus.Argued, spec openmanus.ToolSpec) argument {
	top, _, _ := strings.Cut(a.Name, ".")
	top, _, _ = strings.Cut(top, "[")
	arg := argument{Argued: a, top: top}
	var others []openmanus.Argument
	for _, d := range spec.Arguments {
		switch d.Name {
		case top:
			arg.declared = append(arg.declared, d)
		case "*":
			others = append(others, d)
		}
	}
	if len(arg.declared) == 0 {
		arg.declared = others
	}
	return arg
}

// does reports whether the tool declares an effect of the argument, as one of the
// kinds, if there are any.
func (a argument) does(e openmanus.Effect, kinds ...openmanus.ArgumentKind) bool {
	return slices.ContainsFunc(a.declared, func(d openmanus.Argument) bool {
		return d.Does == e && (len(kinds) == 0 || slices.Contains(kinds, d.Kind))
	})
}

// A judge looks at the arguments of one call.
type judge struct {
	gate    *Gate
	call    openmanus.Call
	known   *openmanus.Provenance
	spec    openmanus.ToolSpec
	facts   facts
	local   bool // it requests only servers on this machine that the user named
	private bool // the session has read something private
}

// request looks at an address that the call requests.
func (j judge) request(a argument) *concern {
	isURL := a.does(openmanus.Requests) || a.does("") && strings.Contains(a.Value, "://")
	if !isURL || !j.private || j.local {
		return nil
	}
	host, from, to := hostIn(a.Value)
	end := linkEnd(a.Argued, from, to)
	if end >= len(strings.TrimRight(a.Value, "/.,;)#")) {
		return nil // a link that stands somewhere, or an address of the user's
	}
	rest := a.Argued
	rest.Parts = slices.DeleteFunc(slices.Clone(a.Parts), func(f openmanus.Found) bool {
		return f.To <= end || isLink(f, from, to) && !ordinary.secretive(a.Value[f.From:f.To])
	})
	named := foreignPart(a.Argued, func(f openmanus.Found) bool { return f.From < to && f.To > from })
	limit := ordinary
	if named != nil {
		limit = strict
	}
	if leak := j.leaks(rest, limit); leak != nil {
		return &concern{j.who(named, leak), fmt.Sprintf("%s sent to %s", leak.text(), host)}
	}
	if n := opaque(rest, end); named != nil && n > 0 {
		return &concern{
			j.who(named, nil), fmt.Sprintf("%d characters of unknown origin sent to %s, which may be private content in disguise", n, host),
		}
	}
	return nil
}

// sending looks at what the call sends to a place that its arguments do not name: a
// query to a search engine, a text to the page that the browser shows, a file.
func (j judge) sending(a argument) *concern {
	if j.spec.From != "" || !a.does(openmanus.Sends) || !j.private {
		return nil
	}
	if a.does(openmanus.Sends, openmanus.PathArgument) {
		if covered(a.Argued, fromPerson) == len(a.Value) || j.spec.Hints.ReadOnly {
			return nil
		}
		return &concern{j.who(foreignPart(a.Argued, anyPart), nil), "the file " + a.Value + " sent out by the tool " + j.call.Name}
	}
	limit := ordinary
	if !j.spec.Hints.ReadOnly {
		limit = strict
	}
	leak := j.leaks(a.Argued, limit)
	if leak == nil {
		return nil
	}
	return &concern{j.who(nil, leak), leak.text() + " sent out by the tool " + j.call.Name}
}

// running looks at commands and code that run outside the sandbox, or with a
// network.
func (j judge) running(a argument) *concern {
	if !a.does(openmanus.Runs) || j.gate.sandboxed() && j.spec.Hints.Sandboxed && !j.gate.o.Network {
		return nil
	}
	part := foreignPart(a.Argued, func(f openmanus.Found) bool {
		if f.Source.Private && !strings.HasPrefix(f.Source.From, openmanus.FromMCP) {
			return f.Bytes >= 24 || f.As != "" // files name files, and commands name files
		}
		return f.Bytes >= 12 || f.As != ""
	})
	if part == nil {
		return nil
	}
	how := "outside the sandbox"
	if j.gate.sandboxed() && (j.spec.Hints.Sandboxed || j.spec.Hints.Reach == openmanus.ReachNetwork) {
		how = "with a network"
	}
	return &concern{sourceName(part.Source), fmt.Sprintf("the tool %s run %s: %s", j.call.Name, how, quote(a.Value[part.From:part.To]))}
}

// leaving looks at what is private in an argument of a tool that is somewhere else.
func (j judge) leaving(a argument) *concern {
	if j.spec.From == "" || !j.private {
		return nil
	}
	limit := strict
	if j.spec.Hints.ReadOnly {
		limit = ordinary
	}
	leak := j.leaks(a.Argued, limit)
	if leak == nil || !j.spec.Hints.ReadOnly && (saysWhere(a) || j.destinationNamed()) {
		return nil
	}
	return &concern{j.who(nil, leak), leak.text() + " sent to " + sourceName(openmanus.Source{From: j.spec.From})}
}

// destinationNamed reports whether the user wrote every place that the arguments name,
// and there is one.
func (j judge) destinationNamed() bool {
	n := 0
	for _, v := range j.known.Arguments {
		if a := newArgument(v, j.spec); saysWhere(a) {
			if n++; covered(a.Argued, fromPerson) < len(strings.TrimSpace(a.Value))*3/4 {
				return false
			}
		}
	}
	return n > 0
}

// protected looks at what is written into a file that programs outside the sandbox
// obey.
func (j judge) protected(a argument) *concern {
	if !j.facts.protected {
		return nil
	}
	part := foreignPart(a.Argued, func(f openmanus.Found) bool { return f.Bytes >= 12 || f.As != "" })
	if part == nil {
		return nil
	}
	return &concern{sourceName(part.Source), fmt.Sprintf("its words written into %s, from which programs outside the sandbox take orders",
		list(j.facts.changed()))}
}

// who names the source that wants something: the one that names the place; or one that
// another argument comes from; or the last one that was read, but for the private
// content itself, and for what is known of a command's output. Sources that everyone
// may write to come before private ones.
func (j judge) who(named *openmanus.Found, leak *leak) string {
	if named != nil {
		return sourceName(named.Source)
	}
	wants := func(s openmanus.Source) bool {
		return !s.Trusted && s.From != workspace && (leak == nil || !slices.Contains(leak.holders, s.From) && s.From != j.spec.From)
	}
	for _, a := range j.known.Arguments {
		if part := foreignPart(a, func(f openmanus.Found) bool { return wants(f.Source) && f.Bytes >= 4 }); part != nil {
			return sourceName(part.Source)
		}
	}
	read := j.known.Read
	is := func(s openmanus.Source, kind string) bool { return strings.HasPrefix(s.From, kind) }
	for _, fits := range []func(openmanus.Source) bool{
		func(s openmanus.Source) bool { return wants(s) && !s.Private },
		func(s openmanus.Source) bool {
			return wants(s) && !is(s, openmanus.FromFile) && !is(s, openmanus.FromSession)
		},
		func(s openmanus.Source) bool { return wants(s) && !is(s, openmanus.FromSession) },
		wants,
		func(s openmanus.Source) bool {
			return leak != nil && s.From != leak.source.From && !is(s, openmanus.FromSession)
		},
	} {
		for _, s := range slices.Backward(read) {
			if fits(s) {
				return sourceName(s)
			}
		}
	}
	return sourceName(read[len(read)-1])
}

// workspace is the source of what a command printed: any file there.
const workspace = openmanus.FromFile + "."

// A leak is private content in an argument.
type leak struct {
	source  openmanus.Source
	bytes   int
	as      string
	holders []string // all sources that have it
}

func (l *leak) text() string {
	s := fmt.Sprintf("%d characters of %s", l.bytes, sourceName(l.source))
	if l.as != "" {
		s += " (as " + l.as + ")"
	}
	return s
}

// A limit says how much private content an argument may carry. Words that many texts
// have are no content.
type limit struct {
	secret   int  // the length of a word that is no word of a language, or of disguised text
	all      int  // the length of all private parts together
	capitals bool // capitals within a word make it one that is no word of a language
}

var (
	// to a place that others named
	strict = limit{secret: 6, all: 12, capitals: true}
	// to one that the user, the configuration or the model named; names in programs have capitals
	ordinary = limit{secret: 8, all: 32}
)

// leaks returns the private content in a, if there is more of it than the limit
// allows. The user's words, and texts that the public knows, are not private; nor
// are texts that come from where the call goes.
func (j judge) leaks(a openmanus.Argued, l limit) *leak {
	known := mask(a, func(f openmanus.Found) bool { return fromPerson(f) || !f.Source.Private && f.As == "" })
	seen := make([]bool, len(a.Value))
	var most *leak
	var holders []string
	total, found := 0, false
	for _, f := range a.Parts {
		if !f.Source.Private || f.Source.From == openmanus.FromPerson || f.Source.From == openmanus.FromProgram ||
			f.Source.From == j.spec.From {
			continue
		}
		if !slices.Contains(holders, f.Source.From) {
			holders = append(holders, f.Source.From)
		}
		fresh := 0
		for i := f.From; i < f.To; i++ {
			if !known[i] && !seen[i] {
				seen[i] = true
				fresh++
			}
		}
		if most != nil && most.source.From == workspace && f.Bytes >= most.bytes && f.As == most.as {
			most.source = f.Source // a file says more than the workspace
		}
		if fresh == 0 {
			continue
		}
		total += fresh
		if f.As != "" && f.Bytes >= l.secret || fresh >= l.secret && l.secretive(a.Value[f.From:f.To]) {
			found = true
		}
		if most == nil || f.Bytes > most.bytes {
			most = &leak{source: f.Source, bytes: f.Bytes, as: f.As}
		}
	}
	if found || total >= l.all {
		most.holders = holders
		return most
	}
	return nil
}

// secretive reports whether a word of text is as long as the limit, and no word of a
// language.
func (l limit) secretive(text string) bool {
	return slices.ContainsFunc(words(text), func(w string) bool { return len(w) >= l.secret && odd(w, l.capitals) })
}

// words returns the words of a text. Characters that join the parts of names and
// keys belong to them.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-+=", r)
	})
}

// odd reports whether a word has digits beside letters, or six digits, or assigns a
// value, or, if they count, has capitals after its first letter.
func odd(word string, withCapitals bool) bool {
	letters, digits, capitals := 0, 0, 0
	for i, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r) && i > 0:
			capitals++
			letters++
		default:
			letters++
		}
	}
	return digits > 0 && letters > 0 || digits >= 6 || strings.Contains(strings.TrimRight(word, "="), "=") ||
		withCapitals && capitals > 0
}

// opaque returns how many characters of a, from the byte at on, stand nowhere and
// are no words: what was encoded in a way that is not known, say.
func opaque(a openmanus.Argued, at int) int {
	known := mask(a, anyPart)
	free := []byte(a.Value)
	for i := range free {
		if i < at || known[i] {
			free[i] = ' '
		}
	}
	n := 0
	isEdge := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	for _, w := range strings.FieldsFunc(string(free), isEdge) {
		if len(w) >= 10 && odd(w, true) || len(w) >= 24 {
			n += len(w)
		}
	}
	return n
}

// foreignPart returns the longest part of a that comes from what others wrote, fits,
// and stands nowhere in what the user said.
func foreignPart(a openmanus.Argued, fits func(openmanus.Found) bool) *openmanus.Found {
	said := mask(a, fromTrusted)
	return longestPart(a, func(f openmanus.Found) bool {
		return !f.Source.Trusted && fits(f) && slices.Contains(said[f.From:f.To], false)
	})
}

// longestPart returns the longest part of a that fits, or nil. A text that another
// session repeats counts half, so that the first source is named.
func longestPart(a openmanus.Argued, fits func(openmanus.Found) bool) *openmanus.Found {
	weight := func(f openmanus.Found) int {
		if strings.HasPrefix(f.Source.From, openmanus.FromSession) {
			return f.Bytes
		}
		return 2 * f.Bytes
	}
	var longest *openmanus.Found
	for _, f := range a.Parts {
		if fits(f) && (longest == nil || weight(f) > weight(*longest)) {
			longest = &f
		}
	}
	return longest
}

func anyPart(openmanus.Found) bool       { return true }
func fromPerson(f openmanus.Found) bool  { return f.Source.From == openmanus.FromPerson }
func fromTrusted(f openmanus.Found) bool { return f.Source.Trusted }

// mask tells for each byte of a whether it is in a part that fits.
func mask(a openmanus.Argued, fits func(openmanus.Found) bool) []bool {
	m := make([]bool, len(a.Value))
	for _, f := range a.Parts {
		if fits(f) {
			for i := f.From; i < f.To; i++ {
				m[i] = true
			}
		}
	}
	return m
}

// covered returns how many bytes of a are in parts that fit.
func covered(a openmanus.Argued, fits func(openmanus.Found) bool) int {
	n := 0
	for _, in := range mask(a, fits) {
		if in {
			n++
		}
	}
	return n
}

// hostIn returns the host in an address, and where it stands.
func hostIn(address string) (host string, from, to int) {
	rest := address
	if i := strings.Index(address, "://"); i >= 0 {
		from, rest = i+3, address[i+3:]
	}
	to = len(address)
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		to = from + i
	}
	host = address[from:to]
	if u, err := url.Parse("//" + host); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return host, from, to
}

// isLink reports whether one source has a part of an address literally, with all of
// the host, which is address[from:to].
func isLink(f openmanus.Found, from, to int) bool { return f.As == "" && f.From <= from && f.To >= to }

// linkEnd returns where the longest link ends that stands in what the user said or what
// everyone may read; 0: there is none. A link in what is private may have been made of
// anything: a command prints it, another session reports it.
func linkEnd(a openmanus.Argued, from, to int) int {
	end := 0
	for _, f := range a.Parts {
		if isLink(f, from, to) && (fromTrusted(f) || !f.Source.Private) {
			end = max(end, f.To)
		}
	}
	return end
}

// saysWhere reports whether an argument of a foreign tool names a place, a person or
// a thing that the call is about, rather than content. Its name tells, or its value:
// an address of any kind.
func saysWhere(a argument) bool {
	for _, d := range a.declared {
		if d.Kind == openmanus.URLArgument || d.Kind == openmanus.HostArgument || d.Kind == openmanus.PathArgument {
			return true
		}
	}
	name := strings.ToLower(a.top + " " + a.Name)
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains(whereNames, strings.TrimSuffix(w, "s")) || slices.Contains(whereNames, w) {
			return true
		}
	}
	v := strings.TrimSpace(a.Value)
	return !strings.ContainsAny(v, " \n") && (strings.Contains(v, "://") || strings.Contains(v, "@"))
}

// whereNames are words in the names of arguments that say where.
var whereNames = strings.Fields(`to recipient cc bcc user username email mail address participant member invitee attendee
	channel room chat thread group team account iban number phone url uri link endpoint webhook host hostname domain server site
	path file filename filepath folder directory dir destination dest target id uuid key repo repository branch remote project
	owner org organization bucket database table hotel restaurant company airline car command cmd script shell query`)

// sourceName returns the name of a source for people.
func sourceName(s openmanus.Source) string {
	cut := func(prefix string) (string, bool) { return strings.CutPrefix(s.From, prefix) }
	if name, ok := cut(openmanus.FromMCP); ok {
		return "the MCP server " + name
	}
	if name, ok := cut(openmanus.FromA2A); ok {
		return "the agent " + name
	}
	if name, ok := cut(openmanus.FromFile); ok {
		if name == "." {
			return "the workspace"
		}
		return name
	}
	if name, ok := cut(openmanus.FromSession); ok {
		return "the sub-agent " + name
	}
	if s.From == openmanus.FromNetwork {
		return "the network"
	}
	if u, err := url.Parse(s.From); err == nil && u.Host != "" {
		return "the page " + strings.TrimSuffix(u.Host+u.EscapedPath(), "/")
	}
	return s.From
}

// quote returns text for a question, at most 60 characters of it.
func quote(text string) string {
	r := []rune(text)
	if len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

func upperFirst(text string) string {
	r := []rune(text)
	if len(r) == 0 || strings.ContainsAny(text[:min(len(text), 1)], "./") {
		return text
	}
	if strings.HasPrefix(text, "the ") || strings.HasPrefix(text, "a ") {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// sourcesOf returns a sentence that names the sources, which are not trusted, of most
// of what a call says, or "".
func sourcesOf(known func() *openmanus.Provenance) string {
	if known == nil {
		return ""
	}
	p := known()
	var names []string
	for _, a := range p.Arguments {
		part := foreignPart(a, func(f openmanus.Found) bool { return f.Bytes >= 8 || f.As != "" })
		if part != nil && !slices.Contains(names, sourceName(part.Source)) {
			names = append(names, sourceName(part.Source))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Its words come from " + list(names) + "."
}
