package gate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/records"
)

// foreign looks at a call of a tool that is somewhere else, such as one of an MCP
// server. The user must have chosen what the call is about:
//
//   - A recipient, an account, a file: the user wrote it, or it stands in a record
//     beside something that the user wrote (the address of the contact whose name the
//     user wrote), or it is one of several that the service lists, and the user wrote
//     something else of the call.
//   - Content may come from anywhere. But an address in it counts as a recipient, and
//     what is secret stays where it is.
//   - Something of the call must be the user's.
//
// Values that no one else wrote are the model's own, and the model works for the user.
func (j judge) foreign() *concern {
	s := newSaid(j.known, j.spec)
	var where, listed, anchored, foreignContents int
	var suspect *openmanus.Found
	for _, v := range j.known.Arguments {
		a := newArgument(v, j.spec)
		if part := foreignPart(a.Argued, anyPart); part != nil && (suspect == nil || part.Bytes > suspect.Bytes) {
			suspect = part
		}
		if s.anchored(a.Value) {
			anchored++
		}
		if j.spec.Hints.ReadOnly {
			if isAddress(a.Value) && s.chose(a, false) == byOthers {
				return j.unnamed(a)
			}
			continue
		}
		if saysWhere(a) {
			where++
			switch s.chose(a, s.destroys) {
			case byOthers:
				return j.unnamed(a)
			case byListing:
				listed++
			}
			continue
		}
		if !s.anchored(a.Value) {
			foreignContents++
		}
		if c := j.content(s, a); c != nil {
			return c
		}
	}
	if j.spec.Hints.ReadOnly || suspect == nil || anchored > 0 || where > listed || foreignContents == 0 && s.namesTool(j.spec) {
		return nil
	}
	return &concern{sourceName(suspect.Source), "the tool " + j.call.Name + " called, and you named nothing of it"}
}

// unnamed is the concern about an argument that others chose.
func (j judge) unnamed(a argument) *concern {
	who := j.spec.From
	for _, fits := range []func(openmanus.Found) bool{
		func(f openmanus.Found) bool {
			return f.Source.From != j.spec.From && !strings.HasPrefix(f.Source.From, openmanus.FromSession)
		},
		func(f openmanus.Found) bool { return f.Source.From == j.spec.From },
		anyPart,
	} {
		if part := foreignPart(a.Argued, fits); part != nil {
			who = part.Source.From
			break
		}
	}
	return &concern{sourceName(openmanus.Source{From: who}),
		fmt.Sprintf("the tool %s called with %s as %s, which you did not name", j.call.Name, quote(a.Value), a.Name)}
}

// content looks at an argument that is content: at addresses and secrets in it.
func (j judge) content(s *said, a argument) *concern {
	if isCredential(a.Name) && !s.wrote(a.Value) && foreignPart(a.Argued, anyPart) != nil {
		return j.unnamed(a)
	}
	if part := addressIn(a); part != nil {
		return j.unnamed(a)
	}
	for _, f := range s.secrets {
		if strings.Contains(fold(a.Value), fold(f.Value)) && !s.wrote(f.Value) {
			return &concern{sourceName(openmanus.Source{From: j.spec.From}),
				fmt.Sprintf("the tool %s called with the %s of your records as %s", j.call.Name, f.Name, a.Name)}
		}
	}
	return nil
}

// addressIn returns the part of an argument of content that is an address which others
// chose: a link in a message, say.
func addressIn(a argument) *openmanus.Found {
	const edge = " \n\t<>()[]\"'"
	return foreignPart(a.Argued, func(f openmanus.Found) bool {
		from, to := f.From, f.To
		for from > 0 && !strings.ContainsRune(edge, rune(a.Value[from-1])) {
			from--
		}
		for to < len(a.Value) && !strings.ContainsRune(edge, rune(a.Value[to])) {
			to++
		}
		return slices.ContainsFunc(strings.Fields(a.Value[from:to]), isAddress)
	})
}

// isAddress reports whether a word is an address that may be anywhere: of a page, a
// mailbox, an account, a telephone.
func isAddress(word string) bool {
	word = strings.Trim(word, ".,;:!?()<>\"'")
	digits := 0
	for _, r := range word {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	switch host, last, dotted := strings.Cut(word, "."); {
	case strings.Contains(word, "://"), strings.Contains(word, "@"), strings.HasPrefix(strings.ToLower(word), "www."):
		return true
	case !strings.ContainsAny(word, " \n-:") && digits >= 10:
		return true
	default:
		return dotted && len(host) > 1 && strings.Contains(last, ".") && digits == 0 || strings.Contains(word, ".") &&
			strings.Contains(word, "/")
	}
}

// said is what the user said, in a form to look things up in, and what services
// answered.
type said struct {
	text      string // words, with one space around each
	numbers   []float64
	responses []response
	secrets   []records.Field // of the responses
	destroys  bool            // the tool removes something
}

// A response is one of a service.
type response struct {
	openmanus.Response
	words      string   // of Text
	asked      []string // the strings among the arguments of its call
	designated bool     // the user wrote all of these
}

var (
	decimal    = regexp.MustCompile(`\d+\.\d+`)
	credential = regexp.MustCompile(`(?i)password|passwd|secret|token|api_?key|credential|\bpin\b`)
	sensitive  = regexp.MustCompile(`(?i)passport|credit|card|password|secret|token|\bssn\b|bank_?account|id_?number|security`)
	destroying = regexp.MustCompile(`(?i)(^|_)(delete|remove|cancel|drop|purge|erase)`)
)

func isCredential(name string) bool { return credential.MatchString(name) }

func newSaid(p *openmanus.Provenance, spec openmanus.ToolSpec) *said {
	s := &said{text: normal(strings.Join(p.Said, "\n")), destroys: destroying.MatchString(spec.Name)}
	for _, n := range decimal.FindAllString(strings.Join(p.Said, " "), -1) {
		if f, err := strconv.ParseFloat(n, 64); err == nil {
			s.numbers = append(s.numbers, f)
		}
	}
	for _, r := range p.Responses {
		res := response{Response: r, words: normal(r.Text)}
		var args any
		if json.Unmarshal([]byte(r.Input), &args) == nil {
			res.asked = stringsIn(args)
		}
		res.designated = len(res.asked) > 0 && !slices.ContainsFunc(res.asked, func(v string) bool { return !s.wrote(v) })
		s.responses = append(s.responses, res)
		for _, rec := range r.Records {
			for _, f := range rec {
				if sensitive.MatchString(f.Name) && len(f.Value) >= 6 {
					s.secrets = append(s.secrets, f)
				}
			}
		}
	}
	return s
}

// stringsIn returns the strings in a value of JSON.
func stringsIn(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			list = append(list, v)
		}
	case []any:
		for _, e := range v {
			list = append(list, stringsIn(e)...)
		}
	case map[string]any:
		for _, e := range v {
			list = append(list, stringsIn(e)...)
		}
	}
	return list
}

// fold returns text in lower case with single spaces.
func fold(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }

// normal returns the words of a text with one space around each.
func normal(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return " " + strings.Join(words, " ") + " "
}

// wrote reports whether the user wrote a text, word for word.
func (s *said) wrote(text string) bool { return stands(s.text, text) }

// stands reports whether the words of text stand in words, which are normal.
func stands(words, text string) bool {
	n := normal(text)
	return strings.TrimSpace(n) != "" && strings.Contains(words, n)
}

// commonValues are values that name nothing.
var commonValues = strings.Fields(`true false none null mail email read sent received draft confirmed`)

// named reports whether the user wrote the value of a field, with or without the
// ending of a file's name.
func (s *said) named(v string) bool {
	if i := strings.LastIndex(v, "."); i > 0 && len(v)-i <= 5 && !strings.ContainsAny(v[i:], " @") {
		v = v[:i]
	}
	n := strings.TrimSpace(normal(v))
	if number, err := strconv.ParseFloat(v, 64); err == nil && slices.Contains(s.numbers, number) {
		return true
	}
	short := len(n) < 3 || len(n) < 4 && !strings.ContainsFunc(n, unicode.IsLetter)
	return !short && !slices.Contains(commonValues, n) && strings.Contains(s.text, " "+n+" ")
}

// A choice says who chose a value.
type choice int

const (
	byUser    choice = iota // or by the model, for the user
	byListing               // it is one of those that a service lists
	byOthers
)

// handle is a number that names a thing of a service.
var handle = regexp.MustCompile(`^\d{1,4}$`)

// chose returns who chose the value of an argument that says where. strict means that
// a listing does not do.
func (s *said) chose(a argument, strict bool) choice {
	v := strings.TrimSpace(a.Value)
	noun := strings.Trim(strings.TrimSuffix(strings.ToLower(a.top), "id"), "_")
	number := handle.MatchString(v)
	if s.wrote(v) && (!number || s.wroteNumber(noun, v)) {
		return byUser
	}
	foreign := foreignPart(a.Argued, anyPart) != nil || number
	best := byOthers
	for i := range s.responses {
		r := &s.responses[i]
		if number && noun != "" && !strings.Contains(strings.ToLower(r.Tool), noun) {
			continue // the number of another thing
		}
		if c := s.choseIn(r, a, v, strict); c < best {
			best = c
		}
	}
	if best == byOthers && !foreign {
		return byUser // no one else wrote it
	}
	if best == byOthers && number && !s.known(v) {
		return byUser
	}
	return best
}

// known reports whether a service answered with v, or wrote it.
func (s *said) known(v string) bool {
	return slices.ContainsFunc(s.responses, func(r response) bool { return stands(r.words, v) })
}

// wroteNumber reports whether the user wrote a number as the name of a thing: "file
// 13", "id 13". A bare 13 may be a day.
func (s *said) wroteNumber(noun, number string) bool {
	for _, before := range []string{"id", "number", "no", noun} {
		if before != "" && (strings.Contains(s.text, " "+before+" "+number+" ") || strings.Contains(s.text, " "+before+" id "+number+" ")) {
			return true
		}
	}
	return false
}

// choseIn returns who chose v, as far as one response tells.
func (s *said) choseIn(r *response, a argument, v string, strict bool) choice {
	address := isAddress(v)
	if len(r.Records) == 0 {
		if r.designated && address && !isPage(a) && stands(r.words, v) && s.wroteSome(v) {
			return byUser // the user said where to look it up, and whose it is
		}
		return byOthers
	}
	best := byOthers
	for _, rec := range r.Records {
		whole := slices.ContainsFunc(rec, func(f records.Field) bool { return strings.EqualFold(f.Value, v) })
		beside := slices.ContainsFunc(rec, func(f records.Field) bool {
			return f.Name != "" && !f.Prose && !strings.EqualFold(f.Value, v) && s.named(f.Value)
		})
		if !whole {
			if address && isPage(a) && beside && says(rec, v) {
				return byUser // it stands in a message that the user named
			}
			continue
		}
		switch {
		case beside,
			!address && r.designated && r.foundBy(rec),
			!address && !strict && s.namedBySource(rec, v):
			return byUser
		case !address && !strict:
			best = byListing
		}
	}
	return best
}

// isPage reports whether an argument is the address of a page.
func isPage(a argument) bool { return strings.Contains(strings.ToLower(a.top), "url") }

// foundBy reports whether a record has one of the texts that its service was asked
// about.
func (r *response) foundBy(rec records.Record) bool {
	return slices.ContainsFunc(r.asked, func(q string) bool {
		return len(q) >= 4 && slices.ContainsFunc(rec, func(f records.Field) bool { return strings.Contains(fold(f.Value), fold(q)) })
	})
}

// namedBySource reports whether a response that the user asked for names another field
// of a record: the file that the message is about which the user named.
func (s *said) namedBySource(rec records.Record, v string) bool {
	return slices.ContainsFunc(s.responses, func(r response) bool {
		return r.designated && slices.ContainsFunc(rec, func(f records.Field) bool {
			return f.Name != "" && !strings.EqualFold(f.Value, v) && len(f.Value) >= 4 && !slices.Contains(commonValues, fold(f.Value)) && stands(r.words, f.Value) &&
				!slices.ContainsFunc(r.Records, func(o records.Record) bool { return len(o) > 0 && &o[0] == &rec[0] })
		})
	})
}

// says reports whether v stands in the prose of a record.
func says(rec records.Record, v string) bool {
	return slices.ContainsFunc(rec, func(f records.Field) bool { return f.Prose && stands(normal(f.Value), v) })
}

// wroteSome reports whether the user wrote a word of an address: a name in it.
func (s *said) wroteSome(address string) bool {
	bare := isAddressWord.ReplaceAllString(s.text, " ")
	return slices.ContainsFunc(strings.Fields(normal(address)), func(w string) bool {
		return len(w) >= 4 && !slices.Contains([]string{"gmail", "mail", "http", "https"}, w) && strings.Contains(bare, " "+w+" ")
	})
}

var isAddressWord = regexp.MustCompile(`www \S+ \S+`)

// anchored reports whether a value is the user's: written so, or for the most part, or
// with a field of a record where the user left a gap. A day or a time is not: everyone
// writes days.
func (s *said) anchored(v string) bool {
	if date.MatchString(v) || strings.TrimSpace(normal(v)) == "" {
		return false
	}
	return s.wrote(v) && len(v) >= 3 || s.wroteMost(v) || s.filledIn(v)
}

var date = regexp.MustCompile(`^\d{4}-\d\d-\d\d`)

// wroteMost reports whether the user wrote half of the triples of words in v.
func (s *said) wroteMost(v string) bool {
	w := strings.Fields(normal(v))
	if len(w) < 4 {
		return false
	}
	n := 0
	for i := range len(w) - 2 {
		if strings.Contains(s.text, " "+strings.Join(w[i:i+3], " ")+" ") {
			n++
		}
	}
	return 2*n >= len(w)-2
}

// filledIn reports whether v is what the user wrote, but for one value of a response.
func (s *said) filledIn(v string) bool {
	text := fold(v)
	try := func(value string) bool {
		value = fold(value)
		if _, after, ok := strings.Cut(value, ": "); ok {
			value = after
		}
		if len(value) < 6 || !strings.Contains(text, value) {
			return false
		}
		rest := strings.ReplaceAll(text, value, " ")
		return len(strings.Fields(normal(rest))) >= 2 && s.wrote(rest)
	}
	return slices.ContainsFunc(s.responses, func(r response) bool {
		if len(r.Records) == 0 {
			return slices.ContainsFunc(strings.Split(r.Text, "\n"), try)
		}
		return slices.ContainsFunc(r.Records, func(rec records.Record) bool {
			return slices.ContainsFunc(rec, func(f records.Field) bool { return try(f.Value) })
		})
	})
}

// namesTool reports whether the user wrote all words of the tool's name: the user
// asked for what it does.
func (s *said) namesTool(spec openmanus.ToolSpec) bool {
	server := strings.TrimPrefix(spec.From, openmanus.FromMCP)
	stem := func(w string) string { return strings.TrimSuffix(w, "s") }
	wrote := make(map[string]bool)
	for _, w := range strings.Fields(s.text) {
		wrote[stem(w)] = true
	}
	return !s.destroys && !slices.ContainsFunc(strings.Fields(normal(spec.Name)), func(w string) bool {
		return !wrote[stem(w)] && !slices.Contains([]string{"mcp", "to", "a", "by", server}, w)
	})
}
