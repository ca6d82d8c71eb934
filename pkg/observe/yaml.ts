import { stringify } from 'yaml';

/** As people write it: no line is folded, and nothing refers to another place. */
export function yamlText(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
