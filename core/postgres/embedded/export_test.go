package embedded

import "context"

// FindAmong is Find on a machine whose own installations are the ones given.
func FindAmong(ctx context.Context, installed []string, prefix string) (Install, error) {
	who, err := accountFor("")
	if err != nil {
		return Install{}, err
	}
	return finder{who: who, installed: installed, prefix: prefix, progress: func(string) {}}.find(ctx)
}
