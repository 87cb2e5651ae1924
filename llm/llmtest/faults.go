package llmtest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/llm"
)

//go:embed faults.txtar
var everyWire []byte

// RunFaults holds an adapter, under [llm.Retry], against a table of what can
// go wrong on a wire. Every fault ends in a retry that succeeds, in a typed
// error, or in a reply that is whole; never in half a reply, in the same text
// twice, in a wait without end, or in something left behind.
//
// The table is a txtar. Each section is a fault, with what is to come of it
// on its first line and below that the answer in the notation of [Peer]:
//
//	retry            the second request succeeds, and its reply is $good
//	error KIND       the first error is final
//	reply WORDS      nothing is wrong with it; see [Words]
//
// Lines that are "$name" stand for what the beginning of the file says:
// "$name = text". A section whose name ends in "(plain)" is the same fault
// without a stream. Where there is none, an answer that is a stream is not
// tried without, and any other is both.
//
// What can go wrong on every wire is in the file faults.txtar of this package,
// in words that table says the meaning of: see there. A section of table
// stands for the one of that name there; if its first line is "none WHY", the
// fault does not exist on this wire.
//
// The outcome of each is logged as a table.
func RunFaults(t *testing.T, table []byte, open Open) {
	own, all := txtar.Parse(table), txtar.Parse(everyWire)
	words := shorthand(string(all.Comment) + string(own.Comment))
	rows := map[string]string{}
	var order []string
	tried := 0
	for _, f := range append(all.Files, own.Files...) {
		if _, known := rows[f.Name]; !known && !strings.HasSuffix(f.Name, " (plain)") {
			order = append(order, f.Name)
		}
		rows[f.Name] = words.expand(string(f.Data))
	}
	log := []string{fmt.Sprintf("%-52s %-42s %s", "fault", "in a stream", "plain")}
	for _, name := range order {
		cells := make([]string, 2)
		for i, good := range []string{"$good", "$plain"} {
			row, ok := rows[name+" (plain)"]
			if !ok || i == 0 {
				row = rows[name]
			}
			if why, none := strings.CutPrefix(row, "none "); none {
				cells[i], _, _ = strings.Cut("none: "+why, "\n")
				continue
			}
			if cells[i] = "-"; !ok && i == 1 && strings.Contains(row, words.expand("$ok\n")) {
				continue
			}
			tried++
			t.Run(name+[]string{"", " (plain)"}[i], func(t *testing.T) {
				cells[i] = fault(t, row, words.expand(good+"\n"), open)
			})
		}
		log = append(log, fmt.Sprintf("%-52s %-42s %s", name, cells[0], cells[1]))
	}
	t.Logf("%d faults, %d cells:\n%s", len(order), tried, strings.Join(log, "\n"))
}

// fault tries one cell and returns the outcome, for the table.
func fault(t *testing.T, row, good string, open Open) (outcome string) {
	want, answer, _ := strings.Cut(row, "\n")
	want = expand(want)
	synctest.Test(t, func(t *testing.T) {
		p := &Peer{Answers: []string{answer, good}}
		client := p.Client()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r, err := llm.Generate(ctx, llm.Retry(open(client), llm.RetryOptions{}), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "Hi")}})
		took := time.Since(begin)
		client.CloseIdleConnections()
		p.Wait()
		outcome = came(r, err, p.Asked())
		if outcome != want {
			t.Errorf("outcome %s\nwant %s\nerror %v", outcome, want, err)
		}
		if took > 15*time.Minute {
			t.Errorf("it took %v", took)
		}
		if len(outcome) > 40 {
			outcome = strings.ToValidUTF8(outcome[:37], "") + "..."
		}
		if took > 0 {
			outcome += fmt.Sprintf(", %v", took.Round(time.Second))
		}
	})
	return outcome
}

func came(r *llm.Reply, err error, asked int) string {
	var e *llm.Error
	switch {
	case err == nil && asked == 1:
		return "reply " + Words(r)
	case err == nil && asked == 2 && Words(r) == "Hello. (end)":
		return "retry"
	case err == nil:
		return fmt.Sprintf("reply %s after %d requests", Words(r), asked)
	case errors.As(err, &e) && asked == 1:
		return "error " + string(e.Kind)
	}
	return fmt.Sprintf("error %v after %d requests", err, asked)
}

// Words is a reply in one line: texts, thoughts in parentheses, calls as NAME
// INPUT #ID, with " | " between them, and why it ended. If there are very many,
// it is their number, the first and the last.
func Words(r *llm.Reply) string {
	var all []string
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			all = append(all, p.Text)
		case llm.Thinking:
			all = append(all, "("+p.Text+")")
		case llm.Call:
			all = append(all, fmt.Sprintf("%s %s #%s", p.Name, p.Input, p.ID))
		}
	}
	if n := len(all); n > 100 {
		all = []string{fmt.Sprintf("%d parts, %s to %s", n, all[0], all[n-1])}
	}
	return strings.Join(all, " | ") + fmt.Sprintf(" (%s)", r.Stop)
}

// dictionary is what the lines "$name" stand for.
type dictionary map[string]string

func shorthand(comment string) dictionary {
	d := dictionary{}
	for line := range strings.Lines(comment) {
		if name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ="); ok && strings.HasPrefix(name, "$") {
			d[name] = strings.ReplaceAll(strings.TrimPrefix(text, " "), `\n`, "\n")
		}
	}
	return d
}

// expand replaces lines that are names, again and again; words on such a line
// after the name replace "..." in the text.
func (d dictionary) expand(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		name, arg, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if text, ok := d[name]; ok && text != "" {
			b.WriteString(d.expand(strings.ReplaceAll(text, "...", arg) + "\n"))
		} else if !ok {
			b.WriteString(line)
		}
	}
	return b.String()
}
