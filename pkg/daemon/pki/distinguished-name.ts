/** The subject and issuer of certificates: as much of X.501 names as users and groups need. */
import {
  children,
  type DerElement,
  element,
  oid,
  oidText,
  sequence,
  set,
  stringText,
  tag,
  utf8String,
} from '#apimachinery/asn1/der.js';

export interface DistinguishedName {
  readonly commonName: string;
  /** Groups, in a client certificate. */
  readonly organizations: readonly string[];
}

const commonNameOid = '2.5.4.3';
const organizationOid = '2.5.4.10';

/** DER of a name: one relative name per organization, then the common name. */
export function encodeName(name: DistinguishedName): Buffer {
  const parts = name.organizations.map((value) => attribute(organizationOid, value));
  if (name.commonName !== '') parts.push(attribute(commonNameOid, name.commonName));
  return sequence(...parts);
}

function attribute(type: string, value: string): Buffer {
  // PrintableString where it can hold the text, as other makers of certificates do: some readers compare bytes.
  const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
  const text = printable ? element(tag.printableString, Buffer.from(value, 'latin1')) : utf8String(value);
  return set(sequence(oid(type), text));
}

/** Reads common name (the last one wins) and organizations; other attributes are passed over. Throws `DerError`. */
export function decodeName(name: DerElement): DistinguishedName {
  let commonName = '';
  const organizations: string[] = [];
  for (const relative of children(name))
    for (const pair of children(relative, tag.set)) {
      const [type, value] = children(pair);
      if (type === undefined || value === undefined) continue;
      const id = oidText(type.contents);
      if (id === commonNameOid) commonName = stringText(value);
      else if (id === organizationOid) organizations.push(stringText(value));
    }
  return { commonName, organizations };
}
