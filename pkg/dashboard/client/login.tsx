import { useState } from 'preact/hooks';
import { TroubleNotice } from '#dashboard/client/parts/notice.js';
import { checkToken } from '#dashboard/client/platform/session.js';
import type { Credentials } from '#dashboard/model/messages.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** Login with a token, which stays in this page's memory only. */
export function Login({ onLogin }: { readonly onLogin: (credentials: Credentials) => void }) {
  const [token, setToken] = useState('');
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    setTrouble(undefined);
    checkToken(token.trim()).then(onLogin, (error: unknown) => setTrouble(troubleFrom(error)));
  };
  return (
    <main class="alone">
      <h1>Dashboard</h1>
      <form onSubmit={submit}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit" class="primary">
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
