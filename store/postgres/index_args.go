package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// saidArguments adds what was said in the events to the arguments of a query.
func (e *entry) saidArguments(a pgx.NamedArgs) {
	said, at := []string{}, []int64{}
	for i, ev := range e.events {
		if words := summary.Searchable(ev.Body); words != "" {
			said, at = append(said, text(words)), append(at, int64(i)+1)
		}
	}
	a["said"], a["said_at"] = said, at
}

// usedArguments adds what models used for the events. What was restored was used
// elsewhere.
func (e *entry) usedArguments(a pgx.NamedArgs) {
	at, by := []int64{}, []string{}
	names := []string{"input", "output", "cached", "written", "reasoning", "estimated", "unpriced", "cost"}
	columns := make([][]int64, len(names))
	for i, ev := range e.events {
		if e.times != nil {
			break
		}
		for _, m := range openmanus.ModelUses(ev.Body) {
			u := m.Usage
			at, by = append(at, int64(i)+1), append(by, text(m.By))
			for c, n := range []int{u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning, u.Estimated, m.Unpriced(), int(m.Cost)} {
				columns[c] = append(columns[c], int64(n))
			}
		}
	}
	a["used_at"], a["used_by"] = at, by
	for c, name := range names {
		a["used_"+name] = columns[c]
	}
}
