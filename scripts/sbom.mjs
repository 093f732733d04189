// What is in the package that others wrote, as a CycloneDX bill of materials. The same source makes the same bytes: no time and no random number is in it.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `bundled`: the packages whose code is in ours. */
export function sbom(root, bundled) {
  const own = json(join(root, 'package.json'));
  const locked = json(join(root, 'package-lock.json')).packages;
  const inside = bundled.map(name => component(root, locked, name));
  const optional = Object.entries(own.peerDependencies ?? {}).map(([name, version]) => ({
    ...{ type: 'library', 'bom-ref': `optional:${name}`, name, version, scope: 'optional' },
  }));
  const components = [...inside, ...optional];
  const subject = {
    ...{ type: 'application', 'bom-ref': purl(own.name, own.version), name: own.name, version: own.version },
    ...{ purl: purl(own.name, own.version), licenses: [{ license: { id: own.license } }] },
  };
  const parts = { metadata: { component: subject }, components };
  const dependencies = [{ ref: subject['bom-ref'], dependsOn: components.map(each => each['bom-ref']) }];
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${uuidOf(parts)}`, version: 1 },
    ...{ ...parts, dependencies },
  };
}

function component(root, locked, name) {
  const { version, license } = json(join(root, 'node_modules', name, 'package.json'));
  const [algorithm, digest] = (locked[`node_modules/${name}`]?.integrity ?? '').split(/-(.*)/s);
  return {
    ...{ type: 'library', 'bom-ref': purl(name, version), name, version, purl: purl(name, version) },
    ...{ scope: 'required', licenses: [{ license: { id: license } }] },
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
  };
}

function purl(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** By content, in the form of a version 5. */
function uuidOf(value) {
  const hex = createHash('sha256').update(JSON.stringify(value)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function json(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
