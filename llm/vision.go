package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"mime"
	"slices"
	"strings"
	"sync"
)

// ReadImages returns a Model that shows images to m, which has no vision, as text:
// reader, which people know by name, describes them. The text says that it is a
// description, and whose. Each image is described once under one [Memo]. The usage
// of reader is an [Aside] of the reply that needed the description; c counts it
// where the provider does not report it: see [Measure]. A limit of the reply's
// tokens holds for each description too.
//
// If reader is nil, the text says that there is an image that m cannot see.
func ReadImages(m, reader Model, c Counter, name string) Model { return newBlind(m, reader, c, name) }

// SpareImages returns a Model that shows images to m, and text in place of them where
// the provider of m refuses them ([Error].Images): it asks once more with text, which is
// that of [ReadImages] if m takes no images at all. seen remembers what was refused, so
// that later requests succeed at once. onRefusal, if not nil, is called with the error
// before m is asked again.
func SpareImages(m, reader Model, c Counter, name string, seen *Seen, onRefusal func(error)) Model {
	return &sparing{newBlind(m, reader, c, name), seen, onRefusal}
}

// Seen is what a provider was found to do with images. All models that stand for one
// model at one endpoint may share it. The zero Seen has found nothing yet. It is safe
// for concurrent use.
type Seen struct {
	// OnBlind, if not nil, is called with the refusal when the model is found to take no
	// images: it took the same request without them. It is set before the first use.
	OnBlind func(error)

	mu    sync.Mutex
	found spared
	taken map[imageKey]bool
}

// An imageKey identifies an image.
type imageKey [sha256.Size]byte

// maxSeen is how many images a Seen remembers, about.
const maxSeen = 10_000

// spared says which images are not sent. It does not change.
type spared struct {
	all     bool // the model takes none
	refused map[imageKey]bool
	n       int // counts what was found; below 0: it is being tried
}

// spares reports whether an image is not sent.
func (s spared) spares(k imageKey) bool { return s.all || s.refused[k] }

// with returns s and what a refusal says of some images.
func (s spared) with(why Images, images []imageKey) spared {
	also := make(map[imageKey]bool)
	if len(s.refused) < maxSeen {
		maps.Copy(also, s.refused)
	}
	for _, k := range images {
		also[k] = true
	}
	return spared{s.all || why == NoImages, also, s.n}
}

// now returns what was found until now.
func (s *Seen) now() spared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// took notes that the provider took images, and, after a refusal, that it refused others.
func (s *Seen) took(images []imageKey, why Images, refused []imageKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil || len(s.taken) > maxSeen {
		s.taken = map[imageKey]bool{}
	}
	for _, k := range images {
		s.taken[k] = true
	}
	if why != "" {
		s.found = s.found.with(why, refused)
		s.found.n++
	}
}

// suspects returns those of images that may be the reason of a refusal: those that the
// provider has not taken before, or else all.
func (s *Seen) suspects(images []imageKey) []imageKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(images), func(k imageKey) bool { return s.taken[k] })
	if len(fresh) == 0 {
		return images
	}
	return fresh
}

// A sparing is the Model of [SpareImages].
type sparing struct {
	blind     *blind
	seen      *Seen
	onRefusal func(error)
}

// Stream implements [Model]. A refusal that blames images counts only if the request
// succeeds without them: it had another reason otherwise. Each attempt has fewer images
// than the one before.
func (s *sparing) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		known, shown := s.seen.now(), false
		var why Images
		var refusal error // that says why
		var refused []imageKey
		for {
			now, model := known, s.blind.model
			if why != "" {
				now = known.with(why, refused)
				now.n = -1
			}
			images := imagesOf(req, now)
			if now.n != 0 {
				b := *s.blind
				b.spared = &now
				model = &b
			}
			if shown && !yield(Delta{Reset: true}, nil) {
				return
			}
			some, done, err := attemptOnce(ctx, model, req, yield)
			if done {
				s.seen.took(images, why, refused)
				if why == NoImages && s.seen.OnBlind != nil {
					s.seen.OnBlind(refusal)
				}
				return
			}
			shown = shown || some
			var e *Error
			if len(images) == 0 || !errors.As(err, &e) || e.Images == "" || ctx.Err() != nil {
				yield(Delta{}, err)
				return
			}
			if s.onRefusal != nil {
				s.onRefusal(err)
			}
			if why != NoImages {
				why, refusal = e.Images, err
			}
			refused = append(refused, s.seen.suspects(images)...)
		}
	}
}

// imagesOf returns the images in req that are sent.
func imagesOf(req *Request, not spared) (all []imageKey) {
	var look func(Parts)
	look = func(parts Parts) {
		for _, p := range parts {
			switch p := p.(type) {
			case Blob:
				if k := imageKey(sha256.Sum256(p.Data)); isImage(p) && !not.spares(k) {
					all = append(all, k)
				}
			case Result:
				look(p.Parts)
			}
		}
	}
	for _, m := range req.Messages {
		look(m.Parts)
	}
	return all
}

// isImage reports whether b is an image.
func isImage(b Blob) bool {
	kind, _, _ := mime.ParseMediaType(b.MIME)
	return strings.HasPrefix(kind, "image/")
}

// A blind is the Model of [ReadImages].
type blind struct {
	model, reader Model
	counter       Counter // of reader
	name          string

	self   *blind  // the one that this is a copy of; a key in memos
	spared *spared // the images that it does not see; nil: all
}

// newBlind returns a blind that sees no images.
func newBlind(m, reader Model, c Counter, name string) *blind {
	b := &blind{model: m, reader: reader, counter: c, name: name}
	b.self = b
	return b
}

// A sparedMemo is the Memo for what the model is told in place of a conversation whose
// images it was shown before: an adapter keeps those encoded.
type sparedMemo struct {
	n    int
	memo *Memo
}

// sparedKey is the key of a sparedMemo.
type sparedKey struct{ *blind }

// memo returns the memo for what the model is told.
func (b *blind) memo(req *Request) *Memo {
	if b.spared == nil {
		return req.Memo
	}
	if b.spared.n < 0 || req.Memo == nil {
		return nil
	}
	kept, _ := req.Memo.Load(sparedKey{b.self}).(sparedMemo)
	if kept.n != b.spared.n {
		kept = sparedMemo{b.spared.n, new(Memo)}
		req.Memo.Store(sparedKey{b.self}, kept)
	}
	return kept.memo
}

// Stream implements [Model]. Each image of the request is replaced by a description, which
// the reader model makes once and the request's Memo keeps. The usage of the reader is in
// a delta of its own, also if the request fails afterwards.
func (b *blind) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		read := &readings{}
		if kept, ok := req.Memo.Load(b.self).(*readings); ok {
			read = kept
		} else {
			req.Memo.Store(b.self, read)
		}
		told := *req
		told.Memo = b.memo(req)
		var used []Aside
		var err error
		told.Messages, err = b.tell(ctx, read, req, &used)
		if len(used) > 0 && !yield(Delta{Aside: used}, nil) {
			return
		}
		if err != nil {
			yield(Delta{}, err)
			return
		}
		for d, err := range b.model.Stream(ctx, &told) {
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// readings are the descriptions of the images of one conversation.
type readings struct {
	mu   sync.Mutex
	text map[[sha256.Size]byte]string
}

// tell returns the messages with text in place of images. Messages without images
// are not copied.
func (b *blind) tell(ctx context.Context, read *readings, req *Request, used *[]Aside) ([]Message, error) {
	read.mu.Lock() // so that each image is read once
	defer read.mu.Unlock()
	out := slices.Clone(req.Messages)
	for i, msg := range out {
		parts, err := b.parts(ctx, read, msg.Parts, req, used)
		if err != nil {
			return nil, err
		}
		out[i].Parts = parts
	}
	return out, nil
}

// parts returns parts with text in place of images, also within results. It returns
// parts itself if there is none.
func (b *blind) parts(ctx context.Context, read *readings, parts Parts, req *Request, used *[]Aside) (Parts, error) {
	out := parts
	put := func(i int, p Part) {
		if &out[0] == &parts[0] {
			out = slices.Clone(parts)
		}
		out[i] = p
	}
	for i, p := range parts {
		switch p := p.(type) {
		case Blob:
			if !isImage(p) || b.spared != nil && !b.spared.spares(sha256.Sum256(p.Data)) {
				continue
			}
			text, err := b.read(ctx, read, p, req, used)
			if err != nil {
				return nil, err
			}
			put(i, Text{Text: text})
		case Result:
			inner, err := b.parts(ctx, read, p.Parts, req, used)
			if err != nil {
				return nil, err
			}
			if len(inner) > 0 && &inner[0] != &p.Parts[0] {
				p.Parts = inner
				put(i, p)
			}
		}
	}
	return out, nil
}

const readingAsk = "Describe this image for someone who cannot see it and has to work with it. Say what it shows. " +
	"Copy all its text word for word, and its numbers and tables exactly. Say where things are in relation to each other. " +
	"If it shows a screen, list what can be clicked or typed into, with the position in pixels. " +
	"Do not guess: say what you cannot make out."

// read returns the text in place of an image.
func (b *blind) read(ctx context.Context, read *readings, img Blob, req *Request, used *[]Aside) (string, error) {
	name := "an image"
	if img.Name != "" {
		name = fmt.Sprintf("the image %q", img.Name)
	}
	if b.spared != nil && !b.spared.all {
		return fmt.Sprintf("[Here is %s, of type %s. The provider of the model refuses it, so you cannot see it.]", name, img.MIME), nil
	}
	if b.reader == nil {
		return fmt.Sprintf("[Here is %s, of type %s. You cannot see images, and no model is set up to read them to you.]", name, img.MIME), nil
	}
	key := sha256.Sum256(img.Data)
	text, known := read.text[key]
	if !known {
		r, err := Measure(ctx, b.reader, b.counter, &Request{
			Messages: []Message{{Role: User, Parts: Parts{Text{Text: readingAsk}, img}}},
			Settings: Settings{MaxTokens: req.Settings.MaxTokens}, Attempts: req.Attempts,
		}, nil)
		if r.Usage != (Usage{}) {
			*used = append(*used, Aside{cmp.Or(r.By, b.name), r.Usage})
		}
		for _, a := range r.Aside {
			*used = append(*used, Aside{cmp.Or(a.By, b.name), a.Usage})
		}
		if err == nil && !r.Stop.Whole() && r.Stop != Length {
			err = &Error{Kind: Refused, Err: fmt.Errorf("it stopped with %q", r.Stop)}
		}
		var e *Error
		if errors.As(err, &e) && e.Images != "" {
			return fmt.Sprintf("[Here is %s, of type %s. %s, which reads images to you, cannot read it: %v]", name, img.MIME, b.name, err), nil
		}
		if errors.As(err, &e) {
			said := *e
			said.Err = fmt.Errorf("%s, reading %s for a model that cannot see: %w", b.name, name, e.Err)
			return "", &said
		} else if err != nil {
			return "", err
		}
		text = strings.TrimSpace(r.Message.Text())
		if read.text == nil {
			read.text = map[[sha256.Size]byte]string{}
		}
		read.text[key] = text
	}
	return fmt.Sprintf("[Here is %s. You cannot see it; another model, %s, read it to you:\n%s\n(end of the reading)]", name, b.name, text), nil
}
