import type { ComponentChildren } from 'preact';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { kindLink, objectLink } from '#dashboard/model/places.js';
import { isPod } from '#dashboard/model/pods.js';

/** Values of annotations that are longer are cut off; the YAML has them. */
const longest = 160;
/** Copies of the whole object, which may have secret values. */
const copies = /last-applied-configuration$/;

/** Who the object is: its owners, labels, annotations, and where a pod runs. */
export function FactList({ kind, object }: TabProps) {
  const { catalog } = useApp();
  const { metadata } = object;
  const { namespace, labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const namespaces = catalog.find('', 'namespaces');
  const nodes = catalog.find('', 'nodes');
  const pod = isPod(object, kind) ? object : undefined;
  return (
    <aside class="card facts" aria-label="Facts">
      <h2>Facts</h2>
      <dl>
        {namespace === undefined || namespaces === undefined ? null : (
          <Fact name="Namespace">
            <a href={objectLink(namespaces, undefined, namespace)}>{namespace}</a>
          </Fact>
        )}
        <Fact name="Created">{metadata.creationTimestamp ?? ''}</Fact>
        {ownerReferences.map(({ apiVersion, kind: ownerKind, name, uid }) => {
          const owner = catalog.byKind(apiVersion, ownerKind);
          return (
            <Fact key={uid} name="Owner">
              {ownerKind}{' '}
              {owner === undefined ? (
                name
              ) : (
                <a href={objectLink(owner, owner.namespaced ? namespace : '', name)}>{name}</a>
              )}
            </Fact>
          );
        })}
        {pod === undefined ? null : (
          <>
            <Fact name="Node">
              {pod.spec.nodeName === undefined || nodes === undefined ? (
                'none'
              ) : (
                <a href={objectLink(nodes, undefined, pod.spec.nodeName)}>{pod.spec.nodeName}</a>
              )}
            </Fact>
            <Fact name="Address">{pod.status?.podIP ?? 'none'}</Fact>
            <Fact name="Service account">{pod.spec.serviceAccountName ?? ''}</Fact>
            <Fact name="Quality of service">{pod.status?.qosClass ?? ''}</Fact>
          </>
        )}
        {Object.keys(labels).length === 0 ? null : (
          <Fact name="Labels">
            <ul class="labels">
              {Object.entries(labels).map(([key, value]) => (
                <li key={key}>
                  <a href={kindLink(kind, { namespace, filter: `${key}=${value}` })}>
                    {key}={value}
                  </a>
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {Object.entries(annotations)
          .filter(([key]) => !copies.test(key))
          .map(([key, value]) => (
            <Fact key={key} name={key}>
              {value.length > longest ? `${value.slice(0, longest)}…` : value}
            </Fact>
          ))}
      </dl>
    </aside>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
