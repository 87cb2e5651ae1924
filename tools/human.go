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

// AskHumanName is the name of the tool that asks the person.
const AskHumanName = "ask_human"

// NewAskHuman returns the ask_human tool, which asks the person a question. It
// does not block: the first run of a call returns an [openmanus.Ask], and the
// second one, with the answer in [openmanus.Call].Answers, returns the answer.
func NewAskHuman() openmanus.Tool {
	return openmanus.Func(
		specOf(AskHumanName, openmanus.Hints{Internal: true, Idempotent: true}, onlyText),
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
