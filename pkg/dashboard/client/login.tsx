import { useState } from 'preact/hooks';
import { TroubleNotice } from '#dashboard/client/parts/notice.js';
import { checkToken, providerLink } from '#dashboard/client/platform/session.js';
import type { Credentials } from '#dashboard/model/messages.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

interface LoginProps {
  /** Whether users may log in at an OpenID provider. */
  readonly hasProvider: boolean;
  /** Of a login at the provider. */
  readonly refused: Trouble | undefined;
  readonly onLogin: (credentials: Credentials) => void;
}

/** Login at the provider or with a token, which stays in this page's memory only. */
export function Login({ hasProvider, refused, onLogin }: LoginProps) {
  const [token, setToken] = useState('');
  const [trouble, setTrouble] = useState<Trouble | undefined>(refused);
  const submit = (event: Event) => {
    event.preventDefault();
    setTrouble(undefined);
    checkToken(token.trim()).then(onLogin, (error: unknown) => setTrouble(troubleFrom(error)));
  };
  return (
    <main class="alone">
      <h1>Dashboard</h1>
      {hasProvider ? (
        <p>
          <a class="button primary" href={providerLink}>
            Log in with single sign-on
          </a>
        </p>
      ) : null}
      <form onSubmit={submit}>
        <label for="token">{hasProvider ? 'Or a token' : 'Token'}</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit" class={hasProvider ? '' : 'primary'}>
          Log in
        </button>
      </form>
      <TroubleNotice trouble={trouble} />
      <p class="quiet">
        <code>orchctl create token NAME</code> prints a token of a service account. This page keeps it in memory, until
        it is closed or loaded again.
      </p>
    </main>
  );
}
