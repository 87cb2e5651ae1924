package openmanus

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// minShortRef is how many hexadecimal digits a short ref has, unless two blobs of a
// session begin with the same ones.
const minShortRef = 8

// ShortRef returns the name by which a model and people call the blob ref: the first
// digits of its hash, as many as tell it from all others in refs. Models copy 64
// digits wrongly, and pay for each.
func ShortRef(refs []Ref, ref Ref) string {
	own := digits(string(ref))
	n := min(minShortRef, len(own))
	for n < len(own) && slices.ContainsFunc(refs, func(o Ref) bool {
		return o != ref && strings.HasPrefix(digits(string(o)), own[:n])
	}) {
		n++
	}
	return own[:n]
}

var shortRef = regexp.MustCompile(`^[0-9a-f]{6,64}$`)

// FindRef returns the blobs among refs that text names: a [Ref], or at least its first
// 6 digits, with or without "sha256:". A whole ref is found whether refs have it or
// not: which blobs a session may read is up to its [Blobs]. More than one means that
// text is too short.
func FindRef(refs []Ref, text string) []Ref {
	text = digits(strings.ToLower(strings.TrimSpace(text)))
	if !shortRef.MatchString(text) {
		return nil
	}
	if len(text) == 64 {
		return []Ref{Ref(refPrefix + text)}
	}
	var found []Ref
	for _, r := range refs {
		if strings.HasPrefix(digits(string(r)), text) && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found
}

// A BlobFinder is implemented by [Blobs] that know which blobs a session may read:
// FindBlobs returns those whose short refs begin with text, as [FindRef] does.
type BlobFinder interface {
	FindBlobs(ctx context.Context, text string) ([]Ref, error)
}

const refPrefix = "sha256:"

func digits(ref string) string { return strings.TrimPrefix(ref, refPrefix) }

// Refs returns the blobs that the model can read: whole results, and what compactions
// and elisions replaced, the oldest first. Do not change the slice.
func (s *State) Refs() []Ref { return s.refs }

// noteRef adds a blob to those that the model can read.
func (s *State) noteRef(ref Ref) {
	if ref != "" && !slices.Contains(s.refs, ref) {
		s.refs = append(slices.Clip(s.refs), ref) // clones of the state share the old ones
	}
}
