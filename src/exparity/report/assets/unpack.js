"use strict";
/* The page's script and data are deflated and in Base64. The policy allows this script, and that one
   by its own SHA-256. */

/** What an element holds, unpacked, as a response. */
function unpacked(node) {
  const packed = Uint8Array.from(atob(node.textContent), (character) => character.charCodeAt(0));
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
