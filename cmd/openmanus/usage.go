package main

import (
	"context"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/journal"
)

// usageCmd is openmanus usage.
type usageCmd struct {
	By     string `help:"What to add up by: model, agent, day (UTC) or session." enum:"model,agent,day,session" default:"model"`
	Since  string `help:"From this day on (2006-01-02, UTC), or since so long ago, such as 7d or 36h." placeholder:"DAY"`
	Output output `help:"text (a table) or json." enum:"text,json" default:"text"`
	listing
}

// Help is more of the command.
func (usageCmd) Help() string {
	return `The tokens and costs of all sessions in the data directory, those that other sessions opened included. Sessions that were deleted are not counted, and what a session was copied or imported with counts where it was used.

"unknown" is the cost of a model whose price is not known: it is not 0. A sum with such a part is marked "at least". Tokens that a provider did not report were counted by OpenManus, and are marked as estimated.`
}

// usageOf is what openmanus usage prints as JSON.
type usageOf struct {
	By     string       `json:"by"`
	Since  string       `json:"since,omitempty"`
	Groups []usageGroup `json:"groups"`
	Total  usageGroup   `json:"total"`
}

// A usageGroup is what one model, agent, day or session used.
type usageGroup struct {
	Name     string `json:"name,omitempty"`
	Requests int    `json:"requests"`
	summary.Usage
}

// Run implements the command.
func (c *usageCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	since, err := sinceDay(c.Since, time.Now())
	if err != nil {
		return usage(err)
	}
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return err
	}
	defer a.Close()
	opts := journal.MeterOptions{By: c.By, Since: since}
	if c.By == "agent" {
		opts.By = "flow"
	}
	used, err := a.db.Used(ctx, opts)
	if err != nil {
		return err
	}
	out := usageOf{By: c.By, Groups: []usageGroup{}}
	if !since.IsZero() {
		out.Since = since.Format(time.DateOnly)
	}
	var sum journal.Used
	tb := &table{head: []string{"REQUESTS", "IN", "CACHED", "OUT", "ESTIMATED", "COST", map[string]string{
		"model": "MODEL", "agent": "AGENT", "day": "DAY", "session": "SESSION"}[c.By]}}
	for _, u := range used {
		if c.By == "agent" {
			u.Name = host.FlowName(u.Name)
		}
		out.Groups = append(out.Groups, groupOf(u))
		tb.add(groupOf(u).cells()...)
		sum = journal.Used{Requests: sum.Requests + u.Requests, Usage: sum.Usage.Add(u.Usage), Cost: sum.Cost + u.Cost,
			Unpriced: sum.Unpriced + u.Unpriced}
	}
	out.Total = groupOf(sum)
	if c.JSON || c.Output == outJSON {
		return t.encoder().Encode(out)
	}
	if len(used) == 0 {
		fmt.Fprintf(t.err, "· nothing was used%s\n", map[bool]string{true: " since " + out.Since}[out.Since != ""])
		return nil
	}
	total := out.Total
	total.Name = "all"
	tb.add(total.cells()...)
	return tb.print(t, g)
}

// groupOf returns u in the units of people.
func groupOf(u journal.Used) usageGroup {
	return usageGroup{u.Name, u.Requests, summary.UsageOf(u.Usage, u.Cost, u.Unpriced)}
}

// cells returns the group as a row of the table.
func (u usageGroup) cells() []string {
	estimated := ""
	switch all := u.Input + u.Output; {
	case u.Estimated >= all && all > 0:
		estimated = "all"
	case u.Estimated > 0:
		estimated = fmt.Sprintf("%d%%", max(1, 100*u.Estimated/all))
	}
	cost := u.Dollars(4)
	switch {
	case u.Cost == nil:
		cost = "unknown"
	case cost == "":
		cost = "$0"
	}
	return []string{fmt.Sprint(u.Requests), fmt.Sprint(u.Input), fmt.Sprint(u.Cached), fmt.Sprint(u.Output), estimated, cost, u.Name}
}

// sinceDay returns the day that --since names, in UTC: itself, or so long before
// now. "" is the zero time.
func sinceDay(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	var days int
	ago, err := time.ParseDuration(text)
	if n, e := fmt.Sscanf(text, "%dd", &days); err != nil && n == 1 && e == nil && fmt.Sprintf("%dd", days) == text {
		ago, err = time.Duration(days)*24*time.Hour, nil
	}
	if err != nil || ago < 0 || days > 36_500 {
		return time.Time{}, fmt.Errorf("--since %q: give a day such as 2006-01-02, or a time such as 7d or 36h", text)
	}
	return now.Add(-ago).UTC().Truncate(24 * time.Hour), nil
}
