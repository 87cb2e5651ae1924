package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// writeProblem responds with a problem document: see RFC 9457.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// An error means that the client is gone.
	_ = json.NewEncoder(w).Encode(&huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// problem converts an error of an operation to the error that huma responds
// with. Errors that no client is responsible for are logged, and returned to the
// client too: the users of a server are those whom it works for.
func (s *Server) problem(ctx context.Context, err error) error {
	var field *FieldError
	err = named(err)
	var status huma.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return err
	case errors.As(err, &field):
		status := http.StatusUnprocessableEntity
		switch {
		case errors.Is(err, ErrLocalModel):
			status = http.StatusBadRequest
		case errors.Is(err, fs.ErrNotExist):
			status = http.StatusNotFound
		}
		return badField(status, field.Field, field.Err.Error())
	case errors.Is(err, openmanus.ErrNoSession):
		return huma.Error404NotFound("there is no such session")
	case errors.Is(err, fs.ErrNotExist):
		return huma.Error404NotFound("there is no such file")
	case errors.Is(err, openmanus.ErrConflict):
		return huma.Error409Conflict("an event with this id exists and has another content")
	case errors.Is(err, openmanus.ErrDriven):
		return huma.Error409Conflict("the session is running: interrupt it first")
	case errors.Is(err, journal.ErrNoWords):
		return badField(http.StatusUnprocessableEntity, "query.q", journal.ErrNoWords.Error())
	case ctx.Err() != nil:
		return huma.NewError(http.StatusServiceUnavailable,
			"the client disconnected or the server is shutting down; events that were stored stay stored")
	}
	s.Log.Error("request failed", "error", err)
	return huma.NewError(http.StatusInternalServerError, err.Error())
}

// Absent is the error, in a [FieldError], for something that a request names and that is
// not there. The request gets a 404 with this text.
type Absent string

// Error implements error.
func (a Absent) Error() string { return string(a) }

// Is makes it an [fs.ErrNotExist].
func (a Absent) Is(target error) bool { return target == fs.ErrNotExist }

// refuseEmpty refuses query parameters that are given without a value, unless they may be
// empty. Otherwise they would count as left out.
func refuseEmpty(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		query := u.Query()
		for _, p := range ctx.Operation().Parameters {
			values := query[p.Name]
			if p.In != "query" || !slices.Contains(values, "") {
				continue
			}
			one := p.Schema
			if one.Type == huma.TypeArray {
				one = one.Items
			}
			var wrong huma.ValidateResult
			at := huma.NewPathBuffer(nil, 0)
			huma.Validate(api.OpenAPI().Components.Schemas, one, at, huma.ModeWriteToServer, "", &wrong)
			if len(wrong.Errors) > 0 {
				what := "it is empty: leave it out or give a value"
				detail := &huma.ErrorDetail{Location: "query." + p.Name, Message: what, Value: ""}
				// An error means that the client is gone.
				_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed", detail)
				return
			}
		}
		next(ctx)
	}
}

// badField returns the error for a request with a bad field, which is a
// location such as query.q, or the name of a field of the body.
func badField(status int, field, what string) error {
	if !strings.Contains(field, ".") {
		field = "body." + field
	}
	return huma.NewError(status, "the request is invalid", &huma.ErrorDetail{Location: field, Message: what})
}
