package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/view"
	"github.com/openmanus-go/openmanus/llm"
)

// sessionsLogCmd is openmanus sessions log.
type sessionsLogCmd struct {
	oneSession
	After  int64 `help:"Begin after this event." placeholder:"N"`
	Follow bool  `short:"f" help:"Wait for further events until Ctrl-C."`
	Full   bool  `help:"Show all of each event."`
	JSON   bool  `name:"json" help:"Print JSON Lines, in the encoding of the journal."`
}

// Run implements the command.
func (c *sessionsLogCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if c.After < 0 {
		return usage(fmt.Errorf("--after counts events from 1, and %d is none", c.After))
	}
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	events := x.db.Events
	if c.Follow {
		stopped, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		ctx, events = stopped, x.db.Follow
	}
	for ev, err := range events(ctx, x.id, c.After) {
		if err == nil {
			err = c.show(t, g, ev)
		}
		if err != nil {
			return err
		}
	}
	if c.Follow {
		return exit{code: exitInterrupted}
	}
	return nil
}

// show prints an event.
func (c *sessionsLogCmd) show(t *terminal, g *globals, ev openmanus.Event) error {
	if c.JSON {
		data, err := encode(ev)
		if err != nil {
			return err
		}
		return t.writeJSON(data)
	}
	s := t.style(g)
	what := eventGist(ev.Body)
	if c.Full {
		what = ""
	}
	line := fmt.Sprintf("%5d  %s  %s  %s", ev.Seq, s.Dim(ev.Time.Local().Format("2006-01-02 15:04:05.000")),
		s.Mark(fmt.Sprintf("%-12s", clip.Plain(openmanus.TypeName(ev.Body)))), termtext.OneLine(what, 200))
	if _, err := fmt.Fprintln(t.out, strings.TrimRight(line, " ")); err != nil || !c.Full {
		return err
	}
	var content any = ev.Body
	if f, ok := ev.Body.(openmanus.Foreign); ok {
		content = f.Content
	}
	data, err := json.MarshalIndent(content, "       ", "  ")
	if err != nil {
		return err
	}
	return t.writeJSON([]byte("       " + string(data) + "\n"))
}

// eventGist describes an event in one line: in the words for people, or else by its fields.
// An event of a newer version is its key.
func eventGist(b openmanus.Body) string {
	if f, ok := b.(openmanus.Foreign); ok {
		return f.Stored
	}
	_, reply := b.(openmanus.ModelSaid)
	if text, _ := view.Note(b); text != "" && !reply {
		return text
	}
	named, text := fieldsGist(reflect.ValueOf(b))
	return strings.Join(append(named, text...), " · ")
}

// fieldsGist returns the fields of a body that are set or always there, each with its name in
// JSON, but for structs, ids of events, hashes, and notes for the model. Messages and parts
// are text, without a name.
func fieldsGist(v reflect.Value) (named, text []string) {
	for f, v := range v.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if opts != "" && v.IsZero() || slices.Contains([]string{"id", "n", "note", "hash"}, name) {
			continue
		}
		switch of := v.Interface().(type) {
		case llm.Message:
			text = append(text, said(of))
		case llm.Parts:
			text = append(text, view.Words(of))
		case json.RawMessage: // for programs
		case openmanus.Spec:
			more, _ := fieldsGist(v)
			named = append(named, more...)
		default:
			switch v.Kind() {
			case reflect.Struct, reflect.Pointer, reflect.Map:
			case reflect.Slice:
				named = append(named, fmt.Sprintf("%s %d", name, v.Len()))
			default:
				named = append(named, name+" "+termtext.OneLine(fmt.Sprint(of), 60))
			}
		}
	}
	return named, text
}

// said returns a message as text, with its calls.
func said(m llm.Message) string {
	text := view.Words(m.Parts)
	for _, c := range openmanus.CallsOf(openmanus.ModelSaid{Message: m}) {
		text += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, termtext.OneLine(linemode.CallLine(c), 60))
	}
	return text
}

// encode returns an event in the encoding of the journal, as one line.
func encode(ev openmanus.Event) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(ev)
	return []byte(b.String()), err
}
