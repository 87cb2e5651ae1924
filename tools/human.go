package tools

import (
	"context"
	"errors"
	"strings"

	"github.com/openmanus-go/openmanus"
)

type askHumanInput struct {
	Inquire string `json:"inquire"`
}

// NewAskHuman returns the ask_human tool, which puts a question before a
// person. Nothing waits in the meantime: the call's first run ends with an
// [openmanus.Ask], and the next one, which has the answer, returns it.
func NewAskHuman() openmanus.Tool {
	return openmanus.Func(
		specOf("ask_human", openmanus.Hints{Internal: true, Idempotent: true}, onlyText),
		func(_ context.Context, call openmanus.Call, in askHumanInput) (openmanus.Result, error) {
			question := strings.TrimSpace(in.Inquire)
			if question == "" {
				return openmanus.Result{}, errors.New("the argument \"inquire\" is empty: write the question")
			}
			if len(call.Answers) == 0 {
				return openmanus.Result{}, &openmanus.Ask{Question: question}
			}
			answer := strings.TrimSpace(call.Answers[len(call.Answers)-1].Text)
			if answer == "" {
				answer = "(the person gave an empty answer)"
			}
			return openmanus.TextResult("%s", answer), nil
		})
}
