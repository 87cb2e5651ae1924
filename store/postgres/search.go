package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Search implements [journal.Searcher]. It searches the messages of users and agents,
// and titles, for all of the words, and reads what was said in the sessions that match
// opts: of a word that is there more often, in a shorter text, it thinks more.
func (db *DB) Search(ctx context.Context, words string, opts journal.ListOptions) ([]journal.Hit, error) {
	list := strings.Fields(text(strings.ToValidUTF8(words, " ")))
	if len(list) == 0 {
		return nil, fmt.Errorf("search for %q: %w", words, journal.ErrNoWords)
	}
	patterns := make([]string, len(list))
	for i, w := range list {
		patterns[i] = "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(w) + "%"
	}
	a := arguments(opts)
	a["patterns"], a["words"], a["first"] = patterns, list, list[0]
	const query = `
WITH found AS (
	SELECT session, seq, text, (
		SELECT sum((length(text) - length(replace(lower(text), lower(w), ''))) / length(w)::float8) FROM unnest(@words::text[]) AS w
	) / ln(length(text) + 3) AS rank
	FROM said WHERE text ILIKE ALL (@patterns::text[])
), best AS (
	SELECT DISTINCT ON (session) session, seq, text, rank FROM found ORDER BY session, rank DESC, seq DESC
)
SELECT ` + info + `, seq, greatest(position(lower(@first) IN lower(text)) - 40, 1),
	substr(text, greatest(position(lower(@first) IN lower(text)) - 40, 1), 160)
FROM best JOIN sessions ON sessions.id = best.session
WHERE ` + selected + ` ORDER BY rank DESC, updated DESC LIMIT @limit`
	rows, err := db.pool.Query(ctx, query, a)
	if err != nil {
		return nil, db.closedOr(err)
	}
	hits, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h journal.Hit, err error) {
		var at int64
		h.SessionInfo, err = summary.Info(row, &h.Seq, &at, &h.Snippet)
		h.Snippet = marked(h.Snippet, list)
		if at > 1 {
			h.Snippet = "…" + h.Snippet
		}
		return h, err
	})
	return hits, db.closedOr(err)
}

// marked returns a text with the words in it between marks.
func marked(text string, words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	re := regexp.MustCompile("(?i)" + strings.Join(quoted, "|"))
	return re.ReplaceAllString(text, journal.MarkBegin+"${0}"+journal.MarkEnd)
}
