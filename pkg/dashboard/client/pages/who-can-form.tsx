import { useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';
import { type BindingObject, type Permitted, type RoleObject, whoCan } from '#dashboard/model/who-can.js';

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

interface Answer {
  readonly mayI: boolean;
  readonly reason: string;
  readonly permitted: readonly Permitted[];
}

/** Who may do this? And may I? */
export function WhoCan({ namespace }: { readonly namespace: string }) {
  const { requests, catalog, dialect } = useApp();
  const [verb, setVerb] = useState('get');
  const [resource, setResource] = useState('pods');
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);

  const ask = async (event: Event) => {
    event.preventDefault();
    setAnswer(undefined);
    setTrouble(undefined);
    const [main = ''] = resource.split('/');
    const kind = catalog.kinds.find((each) => each.resource === main);
    const group = kind?.group ?? '';
    const inside = kind?.namespaced === false ? '' : namespace;
    try {
      const review = await mayI(verb, group, resource, inside);
      setAnswer({ ...review, permitted: [] });
      const items = async <T,>(path: string) =>
        (await requests.json<{ readonly items?: readonly T[] }>(path)).items ?? [];
      const base = `/apis/${dialect.groupName('rbac')}/v1`;
      const place = `${base}/namespaces/${encodeURIComponent(namespace)}`;
      const [roles, roleBindings, clusterRoles, clusterRoleBindings] = await Promise.all([
        items<RoleObject>(`${place}/roles`),
        items<BindingObject>(`${place}/rolebindings`),
        items<RoleObject>(`${base}/clusterroles`),
        items<BindingObject>(`${base}/clusterrolebindings`),
      ]);
      const wish = { verb, group, resource, name: '', namespace: inside };
      setAnswer({ ...review, permitted: whoCan(wish, { roles, roleBindings, clusterRoles, clusterRoleBindings }) });
    } catch (error) {
      setTrouble(troubleFrom(error));
    }
  };

  const mayI = async (wished: string, group: string, of: string, inside: string) => {
    const authorization = dialect.groupName('authorization');
    const [main = '', subresource = ''] = of.split('/');
    const resourceAttributes = { verb: wished, group, resource: main, subresource, namespace: inside };
    const body = { apiVersion: `${authorization}/v1`, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
    const { status } = await requests.send<{
      readonly status: { readonly allowed: boolean; readonly reason?: string };
    }>('POST', `/apis/${authorization}/v1/selfsubjectaccessreviews`, {
      contentType: 'application/json',
      body: JSON.stringify(body),
    });
    return { mayI: status.allowed, reason: status.reason ?? '' };
  };

  return (
    <section class="card" aria-label="Who may do this">
      <h2>Who may do this?</h2>
      <form class="actions" onSubmit={(event) => void ask(event)}>
        <select aria-label="Verb" value={verb} onChange={({ currentTarget }) => setVerb(currentTarget.value)}>
          {verbs.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <input
          aria-label="Resource"
          list="resources"
          value={resource}
          onInput={({ currentTarget }) => setResource(currentTarget.value)}
        />
        <datalist id="resources">
          {catalog.kinds.map((kind) => (
            <option key={`${kind.group}/${kind.resource}`} value={kind.resource} />
          ))}
        </datalist>
        <button type="submit" class="primary">
          Ask
        </button>
      </form>
      {answer === undefined ? null : (
        <p role="status">
          <span class={`status ${answer.mayI ? 'good' : 'bad'}`}>{answer.mayI ? 'You may' : 'You may not'}</span>{' '}
          <span class="note">{answer.reason}</span>
        </p>
      )}
      {trouble?.code === 403 ? (
        <Quiet>You may not read roles and bindings, so others are not shown.</Quiet>
      ) : (
        <TroubleNotice trouble={trouble} />
      )}
      {answer === undefined || answer.permitted.length === 0 ? null : (
        <ScrollBox label="Subjects">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Who</th>
                <th scope="col">Through</th>
              </tr>
            </thead>
            <tbody>
              {answer.permitted.map(({ subject, through }) => (
                <tr key={`${subject} ${through}`}>
                  <td>{subject}</td>
                  <td class="wrap">{through}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollBox>
      )}
    </section>
  );
}
