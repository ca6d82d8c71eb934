/** The rows of `auth can-i --list`: one for each right, with its verbs, in kubectl's order. Pure. */

export interface RulesStatus {
  readonly resourceRules?: readonly ListedRule[] | null;
  readonly nonResourceRules?: readonly ListedRule[] | null;
  readonly incomplete?: boolean;
  readonly evaluationError?: string;
}

interface ListedRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A right: one resource or path, perhaps of one name. */
interface Right {
  readonly group: string | undefined;
  readonly resource: string | undefined;
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly verbs: string[];
}

export function listedRules({ resourceRules, nonResourceRules }: RulesStatus): string[][] {
  const rights = new Map<string, Right>();
  const add = (right: Omit<Right, 'verbs'>, verb: string) => {
    // kubectl joins the verbs of resources, and not those of paths.
    const key = JSON.stringify([right.group, right.resource, right.name, right.url, right.url && rights.size]);
    const entry = rights.get(key);
    if (entry === undefined) rights.set(key, { ...right, verbs: [verb] });
    else entry.verbs.push(verb);
  };
  for (const rule of resourceRules ?? []) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const names = rule.resourceNames ?? [];
        for (const verb of rule.verbs ?? []) {
          for (const name of names.length === 0 ? [undefined] : names)
            add({ group, resource, name, url: undefined }, verb);
        }
      }
    }
  }
  for (const rule of nonResourceRules ?? []) {
    for (const url of rule.nonResourceURLs ?? []) {
      for (const verb of rule.verbs ?? []) add({ group: undefined, resource: undefined, name: undefined, url }, verb);
    }
  }
  return [...rights.values()]
    .map((right) => ({ right, order: goText(right) }))
    .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
    .map(({ right }) => [
      resourceText(right),
      bracketed(right.url),
      bracketed(right.name),
      `[${right.verbs.join(' ')}]`,
    ]);
}

const bracketed = (text: string | undefined): string => `[${text ?? ''}]`;

/** The text by which kubectl sorts. */
function goText({ verbs, group, resource, name, url }: Right): string {
  const fields = [bracketed(group), bracketed(resource), bracketed(name), bracketed(url)];
  const [groups, resources, names, urls] = fields;
  return `&PolicyRule{Verbs:[${verbs.join(' ')}],APIGroups:${groups},Resources:${resources},ResourceNames:${names},NonResourceURLs:${urls},}`;
}

/** `deployments.apps/scale`. */
function resourceText({ group = '', resource }: Right): string {
  if (resource === undefined) return '';
  const slash = resource.indexOf('/');
  const [plain, subresource] = slash < 0 ? [resource, ''] : [resource.slice(0, slash), resource.slice(slash)];
  return `${plain}${group === '' ? '' : `.${group}`}${subresource}`;
}
