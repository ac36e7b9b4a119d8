package rest

import (
	"context"
	"net/url"

	"github.com/toolscout/toolscout/core"
	"github.com/toolscout/toolscout/core/admin"
)

func (a *api) users(ctx context.Context, c call[Page, none]) (List[User], error) {
	users, err := a.admin.Users(ctx, c.Request, c.query.page())
	return listOf(users, userOf), err
}

func (a *api) user(ctx context.Context, c call[none, none]) (User, error) {
	u, err := a.admin.User(ctx, c.Request, c.path("id"))
	return userOf(u), err
}

func (a *api) createUser(ctx context.Context, c call[none, UserInput]) (User, error) {
	u, err := a.admin.CreateUser(ctx, c.Request, core.User{Name: c.body.Name, Email: c.body.Email, Roles: c.body.Roles})
	c.header.Set("Location", "/v1/admin/users/"+url.PathEscape(u.ID))
	return userOf(u), err
}

func (a *api) updateUser(ctx context.Context, c call[none, Patch[UserInput]]) (User, error) {
	in, err := c.body.values()
	if err != nil {
		return User{}, err
	}
	u, err := a.admin.UpdateUser(ctx, c.Request, c.path("id"), admin.UserPatch{Name: field(c.body, "name", in.Name),
		Email: field(c.body, "email", in.Email), Roles: field(c.body, "roles", in.Roles)})
	return userOf(u), err
}

func (a *api) deleteUser(ctx context.Context, c call[none, none]) (none, error) {
	return none{}, a.admin.DeleteUser(ctx, c.Request, c.path("id"))
}

func (a *api) tokens(ctx context.Context, c call[Page, none]) (List[Token], error) {
	tokens, err := a.admin.Tokens(ctx, c.Request, c.path("id"), c.query.page())
	return listOf(tokens, tokenOf), err
}

func (a *api) createToken(ctx context.Context, c call[none, TokenInput]) (NewToken, error) {
	t, secret, err := a.admin.CreateToken(ctx, c.Request, c.path("id"), admin.NewToken(c.body))
	c.header.Set("Location", "/v1/admin/users/"+url.PathEscape(c.path("id"))+"/tokens/"+url.PathEscape(t.ID))
	return NewToken{Token: tokenOf(t), Secret: secret}, err
}

func (a *api) revokeToken(ctx context.Context, c call[none, none]) (none, error) {
	return none{}, a.admin.RevokeToken(ctx, c.Request, c.path("id"), c.path("tokenId"))
}

func (a *api) setUserPreference(ctx context.Context, c call[none, Switch]) (Preference, error) {
	err := a.admin.SetPreference(ctx, c.Request, c.path("id"), c.path("serverId"), c.body.Enabled)
	return Preference{ServerID: c.path("serverId"), Enabled: c.body.Enabled}, err
}
