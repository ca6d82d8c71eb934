import { useMemo, useState } from 'preact/hooks';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { YamlEditor } from '#dashboard/client/pages/object/yaml-editor.js';
import { yamlOf } from '#dashboard/client/pages/object/yaml-text.js';
import { masked, readableOf } from '#dashboard/model/manifest.js';

export function YamlTab({ kind, object }: TabProps) {
  const isSecret = kind.resource === 'secrets' && kind.group === '';
  const [isOpen, setOpen] = useState(!isSecret);
  const [edited, setEdited] = useState<typeof object | undefined>(undefined);
  const text = useMemo(() => yamlOf(readableOf(isOpen ? object : masked(object))), [isOpen, object]);
  if (edited !== undefined)
    return <YamlEditor kind={kind} object={edited} current={object} onEnd={() => setEdited(undefined)} />;
  const mayEdit = kind.verbs.includes('patch');
  return (
    <section class="card" aria-label="Object">
      <div class="actions">
        {isSecret ? (
          <button type="button" aria-pressed={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide values' : 'Show values'}
          </button>
        ) : null}
        {mayEdit && isOpen ? (
          <button type="button" class="primary" onClick={() => setEdited(object)}>
            Edit
          </button>
        ) : null}
      </div>
      <pre class="code" tabIndex={0} role="region" aria-label="YAML">
        {text}
      </pre>
    </section>
  );
}
