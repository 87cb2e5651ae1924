package run

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus"
)

// A Node is a session in a tree of sessions: its root, or a descendant.
type Node struct {
	Session string
	Path    []string // the flows of the sessions from the root to this one
	State   *openmanus.State
}

// Tree returns a session and its descendants that have been opened and have not
// ended, each before its children. A session that does not exist is an error that
// is [openmanus.ErrNoSession].
func Tree(ctx context.Context, j openmanus.Journal, session string) ([]Node, error) {
	return tree(ctx, j, session, nil)
}

// tree is Tree for a session below those with the flows above.
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
			continue // announced, and not opened yet
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, below...)
	}
	return nodes, nil
}

// A Question is a call that waits for the user.
type Question struct {
	Node
	Call *openmanus.CallState
}

// Questions returns the calls that wait for the user in a session and its
// descendants. [openmanus.CallState.Question] has the question of each; append the
// answer to the session of its Node, and wake the root.
func Questions(ctx context.Context, j openmanus.Journal, session string) ([]Question, error) {
	nodes, err := Tree(ctx, j, session)
	return QuestionsIn(nodes), err
}

// QuestionsIn is [Questions] for the sessions of a [Tree], without reading them
// again.
func QuestionsIn(nodes []Node) []Question {
	var qs []Question
	for _, n := range nodes {
		for _, c := range n.State.Pending() {
			qs = append(qs, Question{n, c})
		}
	}
	return qs
}
