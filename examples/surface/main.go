// Command surface is a surface of its own: it shows a session as it happens
// and asks the person what has to be decided. A script plays the model:
//
//	go run ./examples/surface
//
// A surface holds one number, that of the last event it has seen. It may end
// and begin again at any time, in another process too.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/run"
)

func main() {
	if err := talk(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const id = "session"

// talk runs one session: the person's lines come from in.
func talk(ctx context.Context, in io.Reader, out io.Writer) error {
	j, agent, err := mailer()
	if err != nil {
		return err
	}
	local := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(agent)}}
	task := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Send Ann my regards.")}
	if err := openmanus.Open(ctx, j, id, agent, &task); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for seen := int64(0); ; {
		if err := local.Wake(ctx, id); err != nil { // until there is nothing to do without the person
			return err
		}
		for ev, err := range j.Events(ctx, id, seen) {
			if err != nil {
				return err
			}
			show(out, ev)
			seen = ev.Seq
		}
		s, err := openmanus.Load(ctx, j, id)
		if err != nil {
			return err
		}
		if len(s.Pending()) == 0 {
			fmt.Fprintf(out, "[%s]\n", s.Status())
			return nil
		}
		for _, call := range s.Pending() {
			if !lines.Scan() {
				return errors.Join(lines.Err(), errors.New("the input ended before the answer"))
			}
			d := act.Decision{Call: call.ID, By: act.ByPerson, Allow: strings.HasPrefix(lines.Text(), "y")}
			if !d.Allow {
				d.Reason = lines.Text()
			}
			if _, err := (act.Sessions{Journal: j}).Rule(ctx, id, d); err != nil && !errors.As(err, new(*act.Error)) {
				return err // an *act.Error: another surface was faster
			}
		}
	}
}

// show shows what a person wants to know of an event.
func show(out io.Writer, ev openmanus.Event) {
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		fmt.Fprintln(out, ">", b.Message.Text())
	case openmanus.ModelSaid:
		if text := b.Message.Text(); text != "" {
			fmt.Fprintln(out, text)
		}
	case openmanus.Asked:
		fmt.Fprintln(out, "?", b.Question, "[y/n]")
	case openmanus.Ruled:
		fmt.Fprintln(out, "  allowed:", b.Allow)
	case openmanus.CallDone:
		fmt.Fprintln(out, "  result:", b.Parts.Text())
	}
}

// mailer returns an agent with a tool that has an effect, and its journal.
func mailer() (*journal.Memory, *openmanus.Agent, error) {
	script, err := scripted.Parse([]byte("-- 1 --\n@call send {\"to\": \"Ann\"}\n-- 2 --\nAnn has your regards.\n"))
	if err != nil {
		return nil, nil, err
	}
	type input struct {
		To string `json:"to"`
	}
	spec := openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "send", Description: "Send regards."},
		Arguments: []openmanus.Argument{{Name: "to", Kind: openmanus.TextArgument}},
	} // without hints a call needs an approval
	send := openmanus.Func(spec, func(_ context.Context, _ openmanus.Call, in input) (openmanus.Result, error) {
		return openmanus.TextResult("sent to %s", in.To), nil
	})
	return new(journal.Memory), &openmanus.Agent{Name: "mailer", Model: script.Model(), Tools: []openmanus.Tool{send}}, nil
}
