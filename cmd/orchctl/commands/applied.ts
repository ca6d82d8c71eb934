/** The annotation with which client-side apply remembers what it sent. */
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';

/** The object with itself in the annotation of the server's dialect. */
export async function withAppliedAnnotation(object: ApiObject, { api }: Pick<Invocation, 'api'>): Promise<ApiObject> {
  const dialect = await api
    .catalog()
    .then((catalog) => catalog.dialect)
    .catch(() => orchDialect);
  return annotated(object, dialect);
}

/** The object with itself, without the annotation, in the annotation. Pure. */
export function annotated(object: ApiObject, { annotations }: Dialect): ApiObject {
  const { [annotations.lastApplied]: _former, ...rest } = object.metadata.annotations ?? {};
  const plain = { ...object, metadata: { ...object.metadata, annotations: rest } };
  const text = `${goJSON(plain)}\n`;
  return { ...object, metadata: { ...object.metadata, annotations: { ...rest, [annotations.lastApplied]: text } } };
}
