// Package sight knows what a session has seen of files, so that none of its calls
// replaces what nobody has looked at: a file of the person's that the session never saw,
// or one that somebody has changed since.
//
// Whoever runs a call gives its context a [Sight]. Package workspace asks it at the moment
// of every write, whichever tool writes. Tools that show a file say so with [Saw], and
// tools that make their content of the present one with [Based]. Afterwards the Sight has
// everything that was shown and written, for the event of the call.
//
// A content is known by its hash, wherever it is: a file that was moved has been seen.
package sight

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// The errors with which a file is not replaced or removed. They are for the model.
var (
	ErrChanged = errors.New("it was changed since this session last saw it, and that would be lost: view it first, " +
		"with str_replace_editor or read_document, and then write what is to be in it; or choose another name")
	ErrUnseen = errors.New("there is such a file, and this session has not seen what is in it: view it first, " +
		"with str_replace_editor or read_document, and then write what is to be in it; or choose another name")
	ErrPartly = errors.New("this session has seen only a part of what is in it: view the rest first, or change a part, with str_replace, " +
		"insert or apply_patch; or choose another name")
	ErrMoved = errors.New("it was changed since this session last saw it, so a line may have another number now: view it first, " +
		"and then insert; or put the text in with str_replace")
	ErrRaced = errors.New("it was changed at this very moment by something else, and is as that left it: view it, and write again")
	ErrLooks = errors.New("this call was to change nothing, so no file is written")
)

// A File is a content of a file that was seen.
type File struct {
	Path, Sum string
	Lines     string // those that were seen, such as 1-100/300; "": all
}

// A Write is a file that was written.
type Write struct {
	Path    string // without symbolic links
	Created bool   // there was none
}

// A Sight is what a call may replace, and what it has seen and written. The fields are set
// before use; the methods may be used by many goroutines. Nil lets everything be replaced.
type Sight struct {
	// Known reports whether the session has seen a content, and KnownPath whether it has
	// seen one of the file with this name. nil: none.
	Known     func(sum string) bool
	KnownPath func(path string) bool

	// Partly reports whether the session has seen a part of a content that it does not
	// know. nil: of none.
	Partly func(sum string) bool

	// Looks says that the call claims to change nothing, so that it replaces and removes
	// no file. Never says that it makes no new one either.
	Looks, Never bool

	// First, if not nil, is called once, before anything is written or removed.
	First func()

	once   sync.Once
	mu     sync.Mutex
	seen   []File
	said   []string
	bases  map[string]bool
	writes []Write
}

type key struct{}

// With returns a context for a call with this sight. nil: everything may be replaced.
func With(ctx context.Context, s *Sight) context.Context { return context.WithValue(ctx, key{}, s) }

// Of returns the sight of the call, or nil.
func Of(ctx context.Context) *Sight {
	s, _ := ctx.Value(key{}).(*Sight)
	return s
}

// Sum returns the hash of a content.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SumOf returns the hash of what r has.
func SumOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

var empty = Sum(nil)

// Saw notes that the model is shown all of a file with this content.
func Saw(ctx context.Context, path, sum string) { Of(ctx).saw(File{Path: path, Sum: sum}) }

// SawFile notes what the model is shown of a file.
func SawFile(ctx context.Context, f File) { Of(ctx).saw(f) }

// SawLines notes that the model is shown the lines from to to of a file that has total
// lines, or of which nobody knows how many it has, if total is 0.
func SawLines(ctx context.Context, path, sum string, from, to, total int) {
	f := File{Path: path, Sum: sum}
	if from > 1 || to < total || total == 0 {
		f.Lines = fmt.Sprintf("%d-%d/%d", from, to, total)
	}
	Of(ctx).saw(f)
}

func (s *Sight) saw(f File) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, f)
}

// maxGiven is how many bytes a file may have to come with the refusal to replace it.
const maxGiven = 8 << 10

// Given returns err, which [Sight.May] returned for a file with this content, or [ErrMoved], with the
// content if that is short text: then the session has seen it, and the next call can replace
// it.
func (s *Sight) Given(err error, path string, content []byte) error {
	if !errors.Is(err, ErrUnseen) && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrPartly) && !errors.Is(err, ErrMoved) ||
		len(content) > maxGiven || !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return err
	}
	s.saw(File{Path: path, Sum: Sum(content)})
	return fmt.Errorf("%w. This is in it now:\n%s", err, content)
}

// Based notes that the call makes what it writes of this content, which a file has now:
// that may be replaced. The session has not seen it by that, nor what the call makes of it.
func Based(ctx context.Context, data []byte) {
	s := Of(ctx)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bases == nil {
		s.bases = make(map[string]bool)
	}
	s.bases[Sum(data)] = true
}

// Stale reports whether something has changed a file since the session last saw what was in
// it, so that what the call says of it is about another content than this one.
func Stale(ctx context.Context, path string, data []byte) bool {
	s := Of(ctx)
	if s == nil || s.KnownPath == nil || !s.KnownPath(path) {
		return false
	}
	sum := Sum(data)
	return !s.knows(sum) && (s.Partly == nil || !s.Partly(sum))
}

// Say notes a sentence for the model about what the call did, such as that a path in it
// meant another file than it says. Without a Sight nobody hears it.
func Say(ctx context.Context, text string) {
	s := Of(ctx)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.said, text) {
		s.said = append(s.said, text)
	}
}

// Said returns what [Say] noted, each sentence once.
func (s *Sight) Said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// Begins notes that a file is about to be written or removed.
func (s *Sight) Begins() {
	if s != nil && s.First != nil && !s.Never {
		s.once.Do(s.First)
	}
}

// May returns the error with which a file is not written: one that has the content
// present, or does not exist if that is "". next is the content to come, "" to remove the
// file.
func (s *Sight) May(path, present, next string) error {
	switch {
	case s == nil:
		return nil
	case s.Never, s.Looks && present != "":
		return ErrLooks
	case present == "", present == next, present == empty:
		return nil
	}
	s.mu.Lock()
	base := s.bases[present]
	s.mu.Unlock()
	switch {
	case base, s.knows(present):
		return nil
	case s.Partly != nil && s.Partly(present):
		return ErrPartly
	case s.KnownPath != nil && s.KnownPath(path):
		return ErrChanged
	}
	return ErrUnseen
}

// knows reports whether the session, or this call, has seen a content.
func (s *Sight) knows(sum string) bool {
	if s.Known != nil && s.Known(sum) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.seen, func(f File) bool { return f.Sum == sum && f.Lines == "" })
}

// Wrote notes that a file was written, as for May. The session has seen what a call writes,
// and only a part of it if the call made it of something that the session has not seen.
func (s *Sight) Wrote(path, present, next string) {
	if s == nil {
		return
	}
	whole := present == "" || present == empty || present == next || s.knows(present)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, Write{path, present == ""})
	switch {
	case next == "":
	case whole:
		s.seen = append(s.seen, File{Path: path, Sum: next})
	default:
		s.seen = append(s.seen, File{Path: path, Sum: next, Lines: "0-0/0"})
	}
}

// Seen returns what the call has shown and written, each content of a file once.
func (s *Sight) Seen() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	var files []File
	had := make(map[File]bool)
	for _, f := range s.seen {
		if !had[f] {
			had[f] = true
			files = append(files, f)
		}
	}
	return files
}

// Writes returns the files that the call has written or removed, each once.
func (s *Sight) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	var files []Write
	had := make(map[string]bool)
	for _, w := range s.writes {
		if !had[w.Path] {
			had[w.Path] = true
			files = append(files, w)
		}
	}
	return files
}
