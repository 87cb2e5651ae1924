package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// writeProblem answers with a problem document: RFC 9457.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// Who does not read the answer need not get it.
	_ = json.NewEncoder(w).Encode(&huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// problem is err as it is answered.
func (s *Server) problem(ctx context.Context, err error) error {
	var field *FieldError
	var status huma.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return err
	case errors.As(err, &field):
		return badField(field.Field, field.Err.Error())
	case errors.Is(err, openmanus.ErrNoSession):
		return huma.Error404NotFound("there is no such session")
	case errors.Is(err, fs.ErrNotExist):
		return huma.Error404NotFound("there is no such file")
	case errors.Is(err, openmanus.ErrConflict):
		return huma.Error409Conflict("this was said before, with other words")
	case errors.Is(err, openmanus.ErrDriven):
		return huma.Error409Conflict("the session is being driven: interrupt it first")
	case errors.Is(err, journal.ErrNoWords):
		return badField("query.q", journal.ErrNoWords.Error())
	case ctx.Err() != nil:
		return huma.NewError(http.StatusServiceUnavailable, "the request was given up, or the server is stopping; what was stored is stored")
	}
	s.Log.Error("request failed", "error", err)
	return huma.NewError(http.StatusInternalServerError, err.Error())
}

// badField says what is wrong with one field of a request.
func badField(field, what string) error {
	if !strings.Contains(field, ".") {
		field = "body." + field
	}
	return huma.Error422UnprocessableEntity("the request is not as it should be", &huma.ErrorDetail{Location: field, Message: what})
}
