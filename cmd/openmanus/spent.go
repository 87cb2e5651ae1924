package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// A modelUse is what was used of one model.
type modelUse struct {
	Model     string `json:"model"`
	Reasoning int    `json:"reasoning_tokens"`
	usageSummary
}

// spent adds up what a session and those below it used of each model, in the
// order of their names.
func spent(ctx context.Context, j openmanus.Journal, id string) ([]modelUse, error) {
	l := ledger{journal: j, usage: map[string]llm.Usage{}, cost: map[string]openmanus.Money{}}
	if err := l.read(ctx, id); err != nil {
		return nil, fmt.Errorf("adding up what each model cost: %w", err)
	}
	var uses []modelUse
	for model, u := range l.usage {
		uses = append(uses, modelUse{model, u.Reasoning, usageSummary{u.Input, u.Output, u.Cached, l.cost[model].USD()}})
	}
	slices.SortFunc(uses, func(a, b modelUse) int { return strings.Compare(a.Model, b.Model) })
	return uses, nil
}

type ledger struct {
	journal openmanus.Journal
	usage   map[string]llm.Usage
	cost    map[string]openmanus.Money
}

func (l *ledger) read(ctx context.Context, id string) error {
	model := ""
	for ev, err := range l.journal.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case openmanus.Configured:
			model = b.Model
		case openmanus.ModelSaid:
			l.add(b.By, model, b.Usage, b.Cost)
		case openmanus.ModelFailed:
			l.add("", model, b.Usage, b.Cost)
		case openmanus.Compacted:
			l.add(b.By, model, b.Usage, b.Cost)
		case openmanus.ChildOpened:
			if err := l.read(ctx, b.Child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *ledger) add(by, model string, u llm.Usage, m openmanus.Money) {
	if u == (llm.Usage{}) && m == 0 {
		return
	}
	if by == "" {
		by = model
	}
	l.usage[by] = l.usage[by].Add(u)
	l.cost[by] += m
}
