import { useState } from 'preact/hooks';
import { parse } from 'yaml';
import { yamlOf } from '#dashboard/client/pages/object/yaml-text.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { DiffView } from '#dashboard/client/parts/diff-view.js';
import { TroubleNotice } from '#dashboard/client/parts/notice.js';
import { withQuery } from '#dashboard/live/requests.js';
import type { ApiObject } from '#dashboard/model/api-object.js';
import { type Kind, objectPath } from '#dashboard/model/catalog.js';
import { type Conflict, conflictsOf } from '#dashboard/model/conflicts.js';
import { type DiffLine, diffLines } from '#dashboard/model/diff.js';
import { applyPatch, editableOf, fieldManager, removedFields } from '#dashboard/model/manifest.js';
import { RequestError, type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

interface YamlEditorProps {
  readonly kind: Kind;
  /** As it was when the user began to edit. */
  readonly object: ApiObject;
  /** As it is. */
  readonly current: ApiObject;
  readonly onEnd: () => void;
}

type Step =
  | { readonly type: 'edit' }
  | {
      readonly type: 'review';
      readonly lines: readonly DiffLine[];
      readonly stays: readonly string[];
      readonly isForced: boolean;
    }
  | { readonly type: 'conflict'; readonly conflicts: readonly Conflict[] };

/** Edits, shows what the server would make of it, and applies it. */
export function YamlEditor({ kind, object, current, onEnd }: YamlEditorProps) {
  const { requests } = useApp();
  const [text, setText] = useState(() => yamlOf(editableOf(object)));
  const [step, setStep] = useState<Step>({ type: 'edit' });
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);

  const apply = async (isForced: boolean, isDry: boolean): Promise<void> => {
    setBusy(true);
    setTrouble(undefined);
    try {
      const edited = parse(text) as Parameters<typeof applyPatch>[1];
      if (typeof edited !== 'object' || edited === null) throw new Error('the text is no object');
      const { namespace, name = '' } = object.metadata;
      const query = { fieldManager, force: isForced ? 'true' : undefined, dryRun: isDry ? 'All' : undefined };
      const result = await requests.send<ApiObject>('PATCH', withQuery(objectPath(kind, namespace, name), query), {
        contentType: 'application/apply-patch+yaml',
        body: JSON.stringify(applyPatch(object, edited)),
      });
      if (!isDry) return onEnd();
      const after = editableOf(result);
      const lines = diffLines(yamlOf(editableOf(current)), yamlOf(after));
      const removed = removedFields(editableOf(object), edited);
      setStep({ type: 'review', lines, isForced, stays: removed.filter((path) => isThere(after, path)) });
    } catch (error) {
      if (error instanceof RequestError && error.code === 409) {
        const conflicts = conflictsOf(error);
        if (conflicts.length > 0) return setStep({ type: 'conflict', conflicts });
      }
      setTrouble(troubleFrom(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <section class="card editor" aria-label="Edit">
      <div class="actions">
        {step.type === 'edit' ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void apply(false, true)}>
            Review changes
          </button>
        ) : (
          <button type="button" onClick={() => setStep({ type: 'edit' })}>
            Back to the text
          </button>
        )}
        {step.type === 'review' ? (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void apply(step.isForced, false)}>
            {step.isForced ? 'Apply, and take over the fields' : 'Apply'}
          </button>
        ) : null}
        <button type="button" onClick={onEnd}>
          Cancel
        </button>
      </div>
      <TroubleNotice trouble={trouble} />
      {step.type === 'edit' ? (
        <textarea
          class="code"
          aria-label="YAML of the object"
          spellcheck={false}
          value={text}
          rows={Math.min(40, text.split('\n').length + 2)}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      ) : null}
      {step.type === 'review' ? <Review lines={step.lines} stays={step.stays} /> : null}
      {step.type === 'conflict' ? (
        <Conflicts conflicts={step.conflicts} onForce={() => void apply(true, true)} isBusy={isBusy} />
      ) : null}
    </section>
  );
}

function Review({ lines, stays }: { readonly lines: readonly DiffLine[]; readonly stays: readonly string[] }) {
  const isEmpty = lines.every(({ type }) => type === 'same');
  return (
    <>
      <h2>What the server will change</h2>
      {isEmpty ? <p class="quiet">Nothing.</p> : <DiffView lines={lines} />}
      {stays.length > 0 ? (
        <p class="notice" role="status">
          These fields stay, because other managers set them: {stays.join(', ')}.
        </p>
      ) : null}
    </>
  );
}

interface ConflictsProps {
  readonly conflicts: readonly Conflict[];
  readonly onForce: () => void;
  readonly isBusy: boolean;
}

function Conflicts({ conflicts, onForce, isBusy }: ConflictsProps) {
  return (
    <>
      <h2>Others manage these fields</h2>
      <ul class="conflicts" aria-label="Conflicts">
        {conflicts.map(({ manager, fields }) => (
          <li key={manager}>
            <strong>{manager}</strong>
            <ul>
              {fields.map((field) => (
                <li key={field}>
                  <code>{field}</code>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      <button type="button" disabled={isBusy} onClick={onForce}>
        Take over these fields
      </button>
    </>
  );
}

function isThere(object: unknown, path: string): boolean {
  let value: unknown = object;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return value !== undefined;
}
