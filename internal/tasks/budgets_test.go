package tasks_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// A row is what a task needed.
type row struct {
	name string
	usage
	questions int
	time      time.Duration
	left      string // why it was not played; "": it was
}

// A budget is what a task needed when the budgets were written.
type budget struct{ calls, toolCalls, prompt, reply, questions int }

// budgets are by the name of the task.
type budgets map[string]budget

const budgetsFile = "testdata/budgets.txt"

const budgetsHead = `# What each task may need: "make tasks UPDATE=1" writes this file.
# Of the tokens a task may use 5 % more than is here, of the rest nothing.
#
# task  model calls  tool calls  prompt tokens  reply tokens  questions
`

func readBudgets(t *testing.T) budgets {
	t.Helper()
	data, err := os.ReadFile(budgetsFile)
	if err != nil && !*flagUpdate {
		t.Fatal(err)
	}
	all := budgets{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		var name string
		var b budget
		if _, err := fmt.Sscan(line, &name, &b.calls, &b.toolCalls, &b.prompt, &b.reply, &b.questions); err != nil {
			t.Fatalf("%s: %q: %v", budgetsFile, line, err)
		}
		all[name] = b
	}
	return all
}

// exceeded says what a task needed beyond its budget; "" if there is nothing.
func (b budget) exceeded(r row) string {
	var over []string
	for _, c := range []struct {
		what        string
		used, limit int
	}{
		{"model calls", r.calls, b.calls},
		{"tool calls", r.toolCalls, b.toolCalls},
		{"prompt tokens", r.prompt, b.prompt + b.prompt/20},
		{"reply tokens", r.reply, b.reply + b.reply/20},
		{"questions", r.questions, b.questions},
	} {
		if c.used > c.limit {
			over = append(over, fmt.Sprintf("it needed %d %s, and may need %d", c.used, c.what, c.limit))
		}
	}
	return strings.Join(over, "; ")
}

// write writes the budgets of the tasks that were played.
func (b budgets) write(t *testing.T, rows []row) {
	t.Helper()
	var text strings.Builder
	text.WriteString(budgetsHead)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		if r.left == "" {
			b[r.name] = budget{r.calls, r.toolCalls, r.prompt, r.reply, r.questions}
		}
		if now, ok := b[r.name]; ok {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", r.name, now.calls, now.toolCalls, now.prompt, now.reply, now.questions)
		}
	}
	w.Flush()
	if err := os.WriteFile(budgetsFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// table shows rows to a person.
func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "task\tmodel calls\ttool calls\tprompt tokens\tlargest request\treply tokens\tquestions\ttime\t")
	var sum row
	for _, r := range rows {
		if r.left != "" {
			fmt.Fprintf(w, "%s\t\t\t\t\t\t\t%s\t\n", r.name, r.left)
			continue
		}
		r.print(w)
		sum.calls += r.calls
		sum.toolCalls += r.toolCalls
		sum.prompt += r.prompt
		sum.largest = max(sum.largest, r.largest)
		sum.reply += r.reply
		sum.questions += r.questions
		sum.time += r.time
	}
	sum.name = "all"
	sum.print(w)
	w.Flush()
	return text.String()
}

func (r row) print(w *tabwriter.Writer) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f s\t\n", r.name, r.calls, r.toolCalls, r.prompt, r.largest, r.reply,
		r.questions, r.time.Seconds())
}
