import type { ComponentChildren } from 'preact';
import type { Liveness } from '#dashboard/model/messages.js';
import type { Trouble } from '#dashboard/model/trouble.js';

/** Why something is not shown, in the server's words. */
export function TroubleNotice({ trouble }: { readonly trouble: Trouble | undefined }) {
  if (trouble === undefined) return null;
  const title = trouble.code === 403 ? 'You may not see this' : trouble.code === 404 ? 'Not there' : 'Not available';
  return (
    <p class="notice bad" role="status">
      <strong>{title}.</strong> {trouble.message}
    </p>
  );
}

/** A page of a user with rights in some namespaces only. */
export function PartialMark({ isPartial }: { readonly isPartial: boolean | undefined }) {
  return isPartial === true ? <span class="note">Only namespaces that you may see</span> : null;
}

export function Quiet({ children }: { readonly children: ComponentChildren }) {
  return <p class="quiet">{children}</p>;
}

const livenessText: Readonly<Record<Liveness, string>> = {
  loading: 'Loading',
  live: 'Live',
  reconnecting: 'Reconnecting',
};

export function LiveMark({ liveness }: { readonly liveness: Liveness | undefined }) {
  const state = liveness ?? 'loading';
  return (
    <span class={`live ${state}`}>
      <span class="dot" aria-hidden="true" />
      {livenessText[state]}
    </span>
  );
}
