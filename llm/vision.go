package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
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
func ReadImages(m, reader Model, c Counter, name string) Model { return &blind{m, reader, c, name} }

// A blind is the Model of [ReadImages].
type blind struct {
	model, reader Model
	counter       Counter // of reader
	name          string
}

// Stream implements [Model]. Each image of the request is replaced by a description, which
// the reader model makes once and the request's Memo keeps. The usage of the reader is in
// a delta of its own, also if the request fails afterwards.
func (b *blind) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		read := &readings{}
		if kept, ok := req.Memo.Load(b).(*readings); ok {
			read = kept
		} else {
			req.Memo.Store(b, read)
		}
		told := *req
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
			if kind, _, _ := mime.ParseMediaType(p.MIME); !strings.HasPrefix(kind, "image/") {
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
