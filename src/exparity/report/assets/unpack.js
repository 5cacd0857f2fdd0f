"use strict";
/* The page's script and data are deflated and in base 85, with a comma for "<". The policy allows this script, and that one
   by its own SHA-256. */

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

/** The bytes of a text in base 85: five digits are four bytes, the first ones highest. */
function bytes(text) {
  const length = Math.floor(text.length * 4 / 5);
  const padded = text.padEnd(Math.ceil(text.length / 5) * 5, "~");
  const view = new DataView(new ArrayBuffer(padded.length * 4 / 5));
  for (let i = 0; i < padded.length; i += 5) {
    let number = 0;
    for (let k = i; k < i + 5; k += 1) number = number * 85 + digits.indexOf(padded[k]);
    view.setUint32(i * 4 / 5, number);
  }
  return new Uint8Array(view.buffer, 0, length);
}

/** What an element holds, unpacked, as a response. */
function unpacked(node) {
  const packed = bytes(node.textContent.trim());
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")));
}

/** Say that nothing but text and tables works. */
function failed(error) {
  console.error(error);
  const note = document.createElement("p");
  note.className = "callout";
  note.setAttribute("role", "alert");
  note.textContent = `Plots and controls do not work in this browser: ${error}`;
  document.getElementById("main").prepend(note);
}

async function run(node) {
  const script = document.createElement("script");
  script.textContent = await unpacked(node).text();
  document.body.append(script);
}
run(document.querySelector("script[data-script]")).catch(failed);
