package run

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus"
)

// A Node is a session of a tree: the one at its root, or one that was opened
// on behalf of one above it.
type Node struct {
	Session string
	Path    []string // the flows from the root's to its own
	State   *openmanus.State
}

// Tree returns a session and all below it that have begun and not ended, each
// before those that it opened. A session that does not exist is an error that
// is [ErrNoSession].
func Tree(ctx context.Context, j openmanus.Journal, session string) ([]Node, error) {
	return tree(ctx, j, session, nil)
}

func tree(ctx context.Context, j openmanus.Journal, session string, above []string) ([]Node, error) {
	s, err := openmanus.Load(ctx, j, session)
	if err != nil {
		return nil, err
	}
	path := append(above[:len(above):len(above)], s.Opened.Flow)
	nodes := []Node{{session, path, s}}
	if s.Outcome.Status != "" {
		return nodes, nil
	}
	for _, c := range s.OpenChildren() {
		below, err := tree(ctx, j, c.Child, path)
		if errors.Is(err, openmanus.ErrNoSession) {
			continue // it was reserved, and is yet to begin
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, below...)
	}
	return nodes, nil
}

// A Question is a call that waits for a person.
type Question struct {
	Node
	Call *openmanus.CallState
}

// Questions returns what waits for a person in a session and in those below
// it.
func Questions(ctx context.Context, j openmanus.Journal, session string) ([]Question, error) {
	nodes, err := Tree(ctx, j, session)
	return questionsIn(nodes), err
}

func questionsIn(nodes []Node) []Question {
	var qs []Question
	for _, n := range nodes {
		for _, c := range n.State.Pending() {
			qs = append(qs, Question{n, c})
		}
	}
	return qs
}
